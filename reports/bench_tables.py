"""The tables of benches, one for each question; cells are plain text."""

from collections import OrderedDict
from functools import partial

import numpy as np

import frameworks
from common.bench import compare, contenders
from common.networks import ALL
from common.system import modules
from reports import study_figures
from reports.studies import LEVERS, SHARED, STEP, answers, turned
from reports.table import CHANGED, Table, dagger, titled

WIDEST = 100  # the factor between an interval's ends that are still shown
ONE_RUN = " One run does not show how processes differ from start to start."
BELIEVE = "All %d contenders passed every rung of the proof before they were timed."
VERDICTS = ("faster", "slower", "no difference shown")  # of a ratio's interval
PLAIN_SCRIPTS = "Are the lanes faster than a tutorial's script?"


def _command(model, options=" ..."):
    which = "" if model is ALL["cnn"] else " --model " + model.name
    return "tox run -e bench -- NAME%s%s" % (options, which)


def of_frameworks(bench):
    """Whether a bench compares frameworks: it has no levers, workers or batch sizes."""
    keys = [contenders.read(key) for key in bench.result["contenders"]]
    return not any(key.lever or key.workers > 1 or key.batch_size for key in keys)


def newest(benches):
    """(the newest comparison of each machine, network and question, the others).

    A later bench of a few of its contenders does not take a comparison's place. Those of the CNN
    come before others, and those of plain scripts last; then those of most contenders come first,
    and of as many the newest.
    """
    found = {}
    in_order = sorted(filter(of_frameworks, benches), key=lambda bench: bench.result["made"])
    for bench in in_order:
        key = bench.machine, bench.result["model"], _question(bench.result)
        timed = set(bench.result["contenders"])
        if key not in found or not timed < set(found[key].result["contenders"]):
            found.pop(key, None)  # the newest come last
            found[key] = bench
    others = [bench for bench in reversed(in_order) if bench not in found.values()]

    def later(bench):
        timed = len(bench.result["contenders"])
        return _has_scripts(bench.result), bench.result["model"] != next(iter(ALL)), -timed

    return sorted(reversed(list(found.values())), key=later), others


def _has_scripts(result):
    """Whether plain scripts were timed, which nothing proves."""
    return any(contender["lane"] == modules.PLAIN for contender in result["contenders"].values())


def _question(result):
    """The question that a bench of frameworks answers."""
    model = ALL[result["model"]]
    if "bfloat16_flops" in result:
        return titled("Is bfloat16 faster than float32?", model)
    if _has_scripts(result):
        return PLAIN_SCRIPTS
    name = "the CNN" if model.name == "cnn" else model.title
    return "Which framework trains %s fastest?" % name


def benched(used, machine):
    """The tables of one machine: one for each bench, but a single one for a network's levers.

    Workers that share a batch have a single table for all networks.
    """
    newer, others = newest([bench for bench in used.benches if bench.machine == machine])
    return [compared(bench) for bench in newer + others] + questions(used, machine)


def questions(used, machine):
    """The tables of one machine that answer further questions."""
    benches = [bench for bench in used.benches if bench.machine == machine]
    parted = {
        bench.path: [contenders.read(key) for key in bench.result["contenders"]]
        for bench in benches
    }
    levers = [bench for bench in benches if any(key.lever for key in parted[bench.path])]
    workers = [bench for bench in benches if any(key.workers > 1 for key in parted[bench.path])]
    sizes = [bench for bench in benches if bench not in workers and bench.result.get("scaling")]
    made = [scaled(bench) for bench in sizes]
    made.append(shared(workers, machine))
    for name, model in ALL.items():
        made.append(
            pulled([bench for bench in levers if bench.result["model"] == name], machine, model)
        )
    return [table for table in made if table.rows]


def compared(bench, since=True):
    """A bench's contenders, the fastest first; all but plain scripts were proven first.

    since: with what has changed since the bench that it was made to be compared with.
    """
    result = bench.result
    model = ALL[result["model"]]
    rows, drawn, unknown, several = [], [], [], result["runs"] > 1
    against = result.get("against") if since else None
    for key, contender in sorted(result["contenders"].items(), key=lambda item: -item[1]["ratio"]):
        name = _with_comma(key) + mark(result, key)
        ratio = contender["ratio"], *contender["interval"]
        if _is_measured(*contender["interval"]):
            drawn.append((name, *ratio))
        else:
            unknown.append(name)
        product = contender.get("share_of_matmul")
        rows.append(
            [
                (name, bench.path),
                contender["verdict"] if _is_measured(*contender["interval"]) else "not judged",
                _ratio(*ratio),
                "%.0f" % contender["per_second"],
                "-" if product is None else "%.0f%%" % (100 * product),
                "%.1f%%" % (100 * np.expm1(contender["within_runs"])),
                "%.1f%%" % (100 * np.expm1(contender["between_runs"])) if several else "-",
                "%.0f%%" % (100 * max(contender["others"])),
            ]
        )
        if against:
            rows[-1] += _since(against["changes"].get(key))
    note = (
        "{}, {}: {}, {} threads, batches of {}. Ratios of speed are relative to `{}`; an interval "
        "that contains 1 shows no difference. Within and between runs: the spread of the ratios. "
        "Others: the cores' largest share that other programs used in any one block.{} {}"
    ).format(
        bench.machine,
        _when(result),
        _runs(result),
        result["threads"],
        result["batch_size"],
        result["baseline"],
        "" if several else ONE_RUN,
        CHANGED,
    )
    if "bfloat16_flops" in result:
        speeds = result["matmul_flops"], result["bfloat16_flops"]
        products = (
            " NumPy's float32 product reaches {:.0f} GFLOP/s, the fastest bfloat16 one {:.0f}."
        )
        note += products.format(*(speed / 1e9 for speed in speeds))
    columns = ["contender", "", "ratio of speed (95%) ", "%s/s " % model.task.observations]
    columns += ["of matrix product ", "within runs ", "between runs ", "others "]
    if against:
        together, yardstick = against.get("together"), "matrix products"
        if together:
            figures = (_since(together)[0], yardstick)
            yardstick = "the median speed of the contenders that have not changed, which itself "
            yardstick += "changed by a factor of %s in %s" % figures
        figures = (_when(against), yardstick)
        note += " Since %s: the speed relative to the bench of that time, in units of %s." % figures
        columns += ["since %s (95%%) " % _when(against), ""]
    title, command = _question(result), _command(model)
    where = "%s %s, %s" % (title, bench.machine, _when(result))
    figure = partial(study_figures.ratios, _key(bench), where, drawn, [bench], command)
    baseline, changed = _with_comma(result["baseline"]), mark(result, result["baseline"])
    if _has_scripts(result):
        answered = _beside_scripts(result["contenders"])
    elif "bfloat16_flops" in result:
        answered = _rounded(result["contenders"])
    else:
        answered = _fastest(drawn, unknown, baseline, changed, several)
    return Table(title, note, columns, rows, figure, answered)


def _of_one_framework(timed, lane, other):
    """{framework: (how many times as fast lane is as other, its interval)}, where both were."""
    found = OrderedDict()
    for key, contender in timed.items():
        beside = timed.get(contenders.read(key)._replace(lane=other).text)
        if contender["lane"] == lane and beside:
            times = contender["seconds_per_step"], beside["seconds_per_step"]
            found[contender["framework"]] = compare.ratio(*times)
    return found


def _beside_scripts(timed):
    """How many times as fast lane best is as its framework's script, and what is proven."""
    gains = _of_one_framework(timed, "best", modules.PLAIN)
    said, level = [], [n for n, (_, ends) in gains.items() if compare.verdict(ends) == VERDICTS[-1]]
    if gains:
        ratios = [ratio for ratio, _ in gains.values()]
        text = "Lane best is %.2f to %.2f times as fast as a script of the same framework"
        text = text % (min(ratios), max(ratios))
        text += "; no difference is shown for %s." % ", ".join(level) if level else "."
        said.append(("Answer", text))
    return said + [("Proof", "The lanes passed every rung. Nothing proves the scripts.")]


def _rounded(timed):
    """How lane bf16 compares with lane best of the same framework, and what is proven."""
    verdicts = OrderedDict((verdict, []) for verdict in VERDICTS)
    for name, (ratio, ends) in _of_one_framework(timed, "bf16", "best").items():
        verdicts[compare.verdict(ends)].append("%s %.2f (%.2f–%.2f)" % (name, ratio, *ends))
    said = [
        "%s: %s." % (verdict.capitalize(), ", ".join(names))
        for verdict, names in verdicts.items()
        if names
    ]
    text = " ".join(["Lane bf16, relative to lane best of the same framework."] + said)
    return [("Answer", text), ("Proof", BELIEVE % len(timed))]


def _fastest(drawn, unknown, baseline, changed, several):
    """Who is fastest, if the intervals show it, and whether that may be believed.

    drawn: the fastest first. unknown: those whose intervals say nothing. changed: the baseline's
    mark. several: whether there was more than one run.
    """
    (name, ratio, low, high), *others = drawn
    level = [other for other, _, _, most in others if most >= low]
    if level:
        said = "No contender is shown to be the fastest: the interval of %s overlaps with %s of %s."
        said %= name, "those" if len(level) > 1 else "that", "; ".join(level)
    else:
        said = "%s is the fastest%s: its interval overlaps with no other."
        said %= name, "" if several else " in this one run"
    if unknown:
        said += " Not judged, because their runs differ too much: %s." % "; ".join(unknown)
    if name != baseline + changed:
        figures = (name, ratio, low, high, baseline)
        said += " %s has %.2f times (%.2f–%.2f) the speed of %s." % figures
    return [("Answer", said), ("Proof", BELIEVE % len(drawn + unknown))]


def scaled(bench):
    """The fixed cost of a step and the cost of an image, from a bench of batch sizes."""
    result, model = bench.result, ALL[bench.result["model"]]
    sizes = sorted({size for fit in result["scaling"].values() for size in fit["batch_sizes"]})
    first = next(iter(result["scaling"]))
    rows = []
    for key, fit in result["scaling"].items():
        memory = fit["peak_memory_bytes"]
        timed = next(filter(None, (_at(result, key, size) for size in sizes)))
        rows.append(
            [
                (_with_comma(key) + mark(result, timed), bench.path),
                "%.3g ms" % (1e3 * fit["overhead_per_step"]),
                "%.3g s" % (1e3 * fit["seconds_per_image"]),
                "%.0f%%" % (100 * fit["largest_error"]),
                "%.2f to %.2f GB" % (memory[0] / 1e9, memory[-1] / 1e9),
            ]
            + [_step(result, key, first, size) for size in sizes]
        )
    noun = model.task.observations
    note = (
        "{}, {}. Every contender passed the proof; then they were timed in turn: {}, {} threads. "
        "A step's time is fitted as a fixed cost and a cost for each of the {}; off is the largest "
        "error of the fit. Memory: the process's peak. For each batch size: the median step with "
        "its quartiles, and the speed relative to {} with its 95% interval.{} {}"
    ).format(
        bench.machine,
        result["made"][:10],
        _runs(result),
        result["threads"],
        noun,
        _with_comma(first),
        "" if result["runs"] > 1 else ONE_RUN,
        CHANGED,
    )
    study = STEP.get(model.name)
    answered = answers(study, _parted(result["scaling"])) if study else ()
    columns = ["contender", "a step ", "1,000 %s " % noun, "off ", "memory "]
    columns += ["batch %d " % size for size in sizes]
    title = study.question if study else "What does a step cost, and what each %s?" % noun[:-1]
    title = titled(title, model)
    fits = {_with_comma(key): fit for key, fit in result["scaling"].items()}
    command = _command(model, " ... --batch-sizes " + " ".join(map(str, sizes)))
    where = "%s %s, %s" % (title, bench.machine, _when(result))
    figure = partial(study_figures.steps, _key(bench), where, fits, bench, command)
    return Table(title, note, columns, rows, figure, answered)


def _parted(fits):
    """How contenders compare with the first, with the smallest and the largest batch."""
    (first, its), *others = fits.items()
    sentences = []
    for key, other in others:
        sizes = [size for size in other["batch_sizes"] if size in its["batch_sizes"]]
        ratios = [
            other["seconds_per_step"][other["batch_sizes"].index(size)]
            / its["seconds_per_step"][its["batch_sizes"].index(size)]
            for size in sizes
        ]
        if sizes:
            names = _with_comma(key), _with_comma(first)
            figures = (names[0], ratios[0], names[1], sizes[0], ratios[-1], sizes[-1])
            sentences.append(
                "A step of %s takes %.1f times as long as one of %s with batches of %d, "
                "%.1f times with batches of %d" % figures
            )
    return ". ".join(sentences)


def _runs(result):
    return "%d runs" % result["runs"] if result["runs"] > 1 else "one run"


def mark(result, key):
    """A contender's mark if its module's file has changed since."""
    contender = result["contenders"][key]
    run = {name: contender[name] for name in ("framework", "lane")}
    run.update(model=result["model"], source_sha256=contender["processes"][-1]["source_sha256"])
    return dagger(run)


def _with_comma(key):
    return key.replace(":", ", ")


def _when(result):
    """When a bench was made, to the minute: there may be two in a day."""
    return result["made"][:16].replace("T", " ")


def _since(change):
    """The cells of a contender's change; dashes if the earlier bench lacks it."""
    if change is None:
        return ["-", "-"]
    return [_ratio(change["ratio"], *change["interval"]), change["verdict"]]


def _ratio(ratio, low, high):
    """A ratio of speed with its interval."""
    if not _is_measured(low, high):
        return "%.3f (its runs differ too much)" % ratio
    return "%.3f (%.3f–%.3f)" % (ratio, low, high)


def _is_measured(low, high):
    """Whether the interval says anything; it does not if some blocks stalled."""
    return high < WIDEST * low


def _key(bench):
    """The name of a bench's figure in an address."""
    return bench.path.replace("/", "-").replace(".json", "")


def _at(result, key, size):
    """The name of a contender with this batch size; None if it was not timed."""
    size = None if size == result["batch_size"] else size
    name = contenders.read(key)._replace(batch_size=size).text
    return name if name in result["contenders"] else None


def _step(result, key, first, size):
    """A cell: a step's time with this batch size, and its speed as a ratio to ``first``'s."""
    here, base = _at(result, key, size), _at(result, first, size)
    if here is None:
        return "-"
    times = result["contenders"][here]["seconds_per_step"]
    low, median, high = np.percentile(1e3 * np.concatenate(times), [25, 50, 75])
    text = "%s ms (%s–%s)" % tuple(map(_three_digits, (median, low, high)))
    if base in (None, here):
        return text
    ratio, interval = compare.ratio(times, result["contenders"][base]["seconds_per_step"])
    return text + "; %.2f (%.2f–%.2f)" % (ratio, interval[0], interval[1])


def _three_digits(value):
    """A number with three digits or more, but never as a power of ten."""
    return "%.0f" % value if value >= 100 else "%.3g" % value


def shared(benches, machine):
    """Workers that share a batch, beside one process on one core and on all."""
    rows, gains, speeds = [], {}, {}
    for bench in benches:
        for key, three in _shared(bench.result):
            name, model = key.name, bench.result["model"]
            size = three["workers"]["batch_size"]
            times = (three[line]["seconds_per_step"] for line in ("workers", "all cores"))
            ratio, interval = compare.ratio(*times)
            lines = speeds.setdefault("%s, %s" % (name, model), {})
            for line, contender in three.items():
                lines.setdefault(line, []).append((size, contender["per_second"]))
            gains.setdefault((name, model), []).append((size, compare.verdict(interval)))
            rows.append(_shared_row(bench, key, three, ratio, interval))
    runs = min([bench.result["runs"] for bench in benches], default=0)
    note = (
        "{}, {} ({}). Fits: a step's time as a fixed cost and a cost for each image. Exchange: the "
        "part of a worker's step that one process on one core does not need for the same share of "
        "the batch: waiting, exchanging gradients, and sharing memory. {}"
    ).format(
        machine,
        ", ".join(sorted({bench.result["made"][:10] for bench in benches})),
        "%d runs or more" % runs
        if runs > 1
        else "one run: the intervals do not cover how processes differ from start to start",
        CHANGED,
    )
    columns = ["environment", "network", "million parameters ", "batch ", "one core, /s "]
    columns += [
        "all cores, /s ",
        "workers, /s ",
        "workers relative to all cores (95%) ",
        "",
        "exchange ",
    ]
    title = SHARED.question
    command = "tox run -e bench -- NAME:best NAME:best/1 NAME:best/2x1 --model MODEL"
    key = "workers-" + machine
    figure = partial(study_figures.shared, key, title + " " + machine, speeds, benches, command)
    study = SHARED
    if not any(name == study.of for name, _ in gains):
        study = study._replace(published="", why="")
    return Table(title, note, columns, rows, figure, answers(study, _won(benches, gains, runs)))


def _shared(result):
    """Yield (a contender with workers, {line of the chart: figures}) if all three were timed."""
    known = result["contenders"]
    for text in known:
        key = contenders.read(text)
        alone = key._replace(workers=1).text
        whole = key._replace(workers=1, threads=None).text
        if key.workers > 1 and {alone, whole} <= set(known):
            lines = ("one core", alone), ("all cores", whole), ("workers", text)
            yield key, OrderedDict((line, known[name]) for line, name in lines)


def _shared_row(bench, key, three, ratio, interval):
    """The cells of a contender with workers, beside one process on one core and on all."""
    model = bench.result["model"]
    return [
        (key.name + mark(bench.result, key.text), bench.path),
        model,
        "%.2g" % (_parameters(model) / 1e6),
        str(three["workers"]["batch_size"]),
        *("%.0f" % contender["per_second"] for contender in three.values()),
        "%.2f (%.2f–%.2f)" % (ratio, interval[0], interval[1]),
        compare.verdict(interval),
        _exchange(bench.result, key, three["workers"]["seconds_per_step"]),
    ]


def _won(benches, gains, runs):
    """In words, with which batches workers are faster; gains: {contender: [(size, verdict)]}.

    The workers have one core each.
    """
    won = []
    for (name, model), sizes in sorted(gains.items()):
        won_with = _sizes(sorted(sizes)) + _crossing(benches, name, model, sorted(sizes))
        won.append("%s, %s: %s" % (name, model, won_with))
    start = "Workers of one core each, compared with one process on all of these cores%s: "
    return start % ("" if runs > 1 else ", in one run") + "; ".join(won)


def _parameters(model):
    return sum(int(np.prod(shape)) for shape in ALL[model].shapes.values())


def _sizes(verdicts):
    """In words, how workers do with each batch size, from sorted (size, verdict) pairs."""
    groups = OrderedDict((verdict, []) for verdict in VERDICTS)
    for size, verdict in verdicts:
        groups[verdict].append(str(size))
    said = ["%s with batches of %s" % (v, ", ".join(sizes)) for v, sizes in groups.items() if sizes]
    return ", ".join(said)


def _crossing(benches, name, model, verdicts):
    """In words, the batch size from which workers win according to the fits of a step's time.

    verdicts: sorted (batch size, verdict) pairs. Empty unless the fits agree with all of these:
    the crossing must lie below the largest size that was timed.
    """
    for bench in benches:
        result = bench.result
        if result["model"] != model:
            continue
        fits = {contenders.read(text): fit for text, fit in result.get("scaling", {}).items()}
        for key, fit in fits.items():
            whole = fits.get(key._replace(workers=1, threads=None))
            if key.name != name or key.workers == 1 or whole is None:
                continue
            extra = fit["overhead_per_step"] - whole["overhead_per_step"]
            gained = whole["seconds_per_image"] - fit["seconds_per_image"]
            size = max(key.workers, int(np.ceil(extra / gained))) if gained > 0 else np.inf
            faster = [verdict == "faster" for _, verdict in verdicts]
            if any(faster) and faster == [batch >= size for batch, _ in verdicts]:
                if not all(faster):  # nothing is known of batches below the smallest
                    return ", according to the fits faster from batches of %d" % size
    return ""


def _exchange(result, key, times):
    """The share of a worker's step that is not computing its part of the batch, or a dash."""
    size = (key.batch_size or result["batch_size"]) // key.workers
    alone = _at(result, key._replace(workers=1).text, size)
    if alone is None:
        return "-"
    own = np.median(np.concatenate(result["contenders"][alone]["seconds_per_step"]))
    return "%.0f%%" % (100 * (1 - own / np.median(np.concatenate(times))))


def pulled(benches, machine, model):
    """The effect of each lever of a network, in lane best or only tried."""
    rows, when, runs, drawn = [], set(), set(), []
    for bench in benches:
        for key, contender in bench.result["contenders"].items():
            key = contenders.read(key)
            plain = key._replace(lever=None).text
            without = bench.result["contenders"].get(plain)
            here = key.name in frameworks.ENVIRONMENTS
            if key.lever is None or key.lane != "best" or without is None or not here:
                continue
            levers = modules.levers(key.name, model.name)
            known = levers.get(key.lever)
            ratio, (low, high) = contender["ratio"], contender["interval"]
            if bench.result["baseline"] != plain:
                times = contender["seconds_per_step"], without["seconds_per_step"]
                ratio, (low, high) = compare.ratio(*times)
            if known is None:
                lever, ratio, low, high = turned(key.lever, ratio, low, high)
                known = levers.get(lever)
            if known is None:
                continue
            if known.kept:  # the lever takes it away
                ratio, low, high = 1 / ratio, 1 / high, 1 / low
            name = key.name + mark(bench.result, plain)
            rows.append(
                [
                    (name, bench.path),
                    known.says,
                    str(contender.get("batch_size", bench.result["batch_size"])),
                    _ratio(ratio, low, high),
                    compare.verdict((low, high)),
                    "yes" if known.kept else "no",
                ]
            )
            when.add(bench.result["made"][:10])
            runs.add(bench.result["runs"])
            drawn.append(("%s: %s" % (name, known.says), ratio, low, high))
        for key, failed in bench.result.get("not_proven", {}).items():
            key = contenders.read(key)
            if key.name in frameworks.ENVIRONMENTS:
                known = modules.levers(key.name, model.name).get(key.lever)
                says = known.says if known else key.lever
                rows.append([(key.name, bench.path), says, "-", "-", "not proven: " + failed, "no"])
    study = LEVERS.get(model.name)
    title = titled(study.question if study else "What does each lever gain?", model)
    command = _command(model, " --levers")
    note = (
        "{}, {}. Each lever alone: lane best with it relative to lane best without it, both proven "
        "and timed in turn (runs of each: {}): `{}`. `frameworks/NAME/variants.py` has them. {}"
    ).format(
        machine, ", ".join(sorted(when)), " or ".join(map(str, sorted(runs))), command, CHANGED
    )
    answered = answers(study, _gained(rows)) if study else ()
    columns = ["environment", "lever", "batch ", "ratio of speed (95%) ", "", "in lane best"]
    key = "levers-%s-%s" % (model.name, machine)
    figure = partial(study_figures.ratios, key, title + " " + machine, drawn, benches, command)
    return Table(title, note, columns, rows, figure, answered)


def _gained(rows):
    """The effect of each lever in words, from the rows of ``pulled``."""
    gains = OrderedDict()
    for (name, _), says, size, ratio, verdict, _ in rows:
        known = verdict in ("faster", "slower")
        gain = "%s, %s times as fast" % (verdict, ratio.split()[0]) if known else verdict
        gains.setdefault((name.replace(" †", ""), size), []).append("%s: %s" % (says, gain))
    return ". ".join(
        "A step of %s with batches of %s, against lane best: %s" % (name, size, "; ".join(each))
        for (name, size), each in gains.items()
    )
