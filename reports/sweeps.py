"""The committed sweeps: which frameworks reach the same accuracy."""

from collections import Counter

from common.networks import ALL
from reports.table import Table, dagger, titled

NOTE = (
    "%s, %s (%s). Each contender was trained with %s, in the lane that its name gives (%s images, "
    "%d epochs). Differences are paired by seed. Equivalent: two one-sided tests show that the "
    "mean difference is smaller than %g points. Different: it is shown not to be 0. Undecided: "
    "neither is shown. Holm's correction covers all pairs, at 5%%."
)


def swept(used, machine):
    """A table for each sweep that was made on a machine."""
    return [_table(each) for each in used.sweeps if each.machine == machine]


def _table(committed):
    result = committed.result
    model = ALL[result["model"]]
    rows = [
        [
            (pair["first"] + mark(result, pair["first"]), committed.path),
            pair["second"] + mark(result, pair["second"]),
            "%+.2f" % pair["mean"],
            "%+.2f to %+.2f" % tuple(pair["interval"]),
            pair["verdict"] + _more(pair),
        ]
        for pair in result["pairs"]
    ]
    trainings = [figures for seeds in result["measured"].values() for figures in seeds.values()]
    cpus = ", ".join(sorted({figures["cpu"] for figures in trainings}))
    recipe = _seeds(result), result["train_images"], result["epochs"], result["margin"]
    note = NOTE % (committed.machine, result["made"][:10], cpus, *recipe)
    columns = ["first", "second", "mean difference ", "90% interval", "verdict"]
    title = titled("Do frameworks reach the same accuracy?", model)
    words = (note, result["dataset"]["name"], _reached(result))
    note = "%s Data: %s. Mean accuracy, and its range: %s." % words
    answers = [("Answer", _answer(result["pairs"]))] if result["pairs"] else []
    return Table(title, note, columns, rows, answers=answers)


def mark(result, contender):
    """A contender's mark if its module's code has changed since its last training."""
    name, lane = contender.split(":")
    run = dict(framework=name, lane=lane, model=result["model"])
    (*_, last) = result["measured"][contender].values()
    return dagger(dict(run, source_sha256=last["source_sha256"]))


def _answer(pairs):
    """How many pairs have which verdict, in a sentence."""
    counts = Counter(pair["verdict"] for pair in pairs)
    verdict, most = counts.most_common(1)[0]
    if most == len(pairs):
        return "%s: %s." % ("All %d pairs" % most if most > 1 else "The pair", verdict)
    said = ", ".join("%d %s" % (count, verdict) for verdict, count in counts.most_common())
    return "Of %d pairs: %s." % (len(pairs), said)


def _seeds(result):
    counts = sorted({len(trainings) for trainings in result["measured"].values() if trainings})
    if len(counts) == 1:
        return "%d seeds" % counts[0]
    return "%d to %d seeds" % (counts[0], counts[-1])


def _more(pair):
    needed = pair.get("seeds_needed")
    return "; about %d seeds would decide half of such pairs" % needed if needed else ""


def _reached(result):
    """Each contender's mean accuracy, and its range over the seeds."""
    reached = []
    for contender, trainings in result["measured"].items():
        points = [100 * figures["accuracy"] for figures in trainings.values()]
        if points:
            values = (contender, sum(points) / len(points), min(points), max(points))
            reached.append("%s %.2f%% (%.2f to %.2f)" % values)
    return ", ".join(reached)
