"""The tables of benches, one for each question; cells are plain text."""

from collections import Counter, OrderedDict
from functools import partial

import numpy as np

import frameworks
from common.bench import compare, contenders
from common.networks import ALL
from common.system import modules
from reports import study_figures
from reports.studies import LEVERS, NONE, SHARED, STEP, about, answers, turned
from reports.table import Table, dagger, titled

WIDEST = 100  # the factor between an interval's ends that are still shown
ONE_RUN = " One run does not show how processes differ from start to start."
BELIEVE = "All %d contenders passed every rung of the proof before they were timed."
VERDICTS = ("faster", "slower", "no difference shown")  # of a ratio's interval
PLAIN_SCRIPTS = "Are the lanes faster than a tutorial's script?"
SCRIPTS, ROUNDED, FASTEST, LISTED = range(4)  # kinds of benches, by the question they answer
# Workers, and the lines of the chart and columns of the table beside them.
WORKERS = ("one process, same threads", "one process, all threads", "workers")


def _command(model, options=" ..."):
    which = "" if model is ALL["cnn"] else " --model " + model.name
    return "tox run -e bench -- NAME%s%s" % (options, which)


def of_frameworks(bench):
    """Whether a bench compares frameworks: no levers, workers, batch sizes or fewer threads."""
    usual = None, bench.result["threads"]
    keys = [contenders.read(key) for key in bench.result["contenders"]]
    return not any(
        key.lever or key.workers > 1 or key.batch_size or key.threads not in usual for key in keys
    )


def newest(benches):
    """(comparisons of frameworks, other benches that answer no question); the newest come first.

    A bench replaces another one of the same machine, network, question and threads if it has all
    of its contenders, and more of them or later figures. Comparisons of the CNN come before others,
    and those of plain scripts last; then lane same comes last, and most contenders come first.
    """
    in_order, found = sorted(benches, key=lambda bench: bench.result["made"]), {}
    for bench in filter(of_frameworks, in_order):
        key = bench.machine, bench.result["model"], _question(bench), bench.result["threads"]
        timed, alike = _timed(bench), found.setdefault(key, [])
        if not any(timed < _timed(other) for other in alike):
            alike[:] = [other for other in alike if not _timed(other) <= timed] + [bench]
    newer = [bench for bench in reversed(in_order) if bench in sum(found.values(), [])]
    others = [bench for bench in reversed(in_order) if bench not in newer and not _is_answer(bench)]

    def later(bench):
        cnn = bench.result["model"] == next(iter(ALL))
        same = _lane(bench.result) == "same"
        return _has_scripts(bench.result), not cnn, same, -len(_timed(bench))

    return sorted(newer, key=later), others


def _timed(bench):
    return set(bench.result["contenders"])


def _is_answer(bench):
    """Whether a bench has figures for one of the further questions."""
    return bool(bench.result.get("scaling")) or any(_shared(bench.result)) or any(_levers(bench))


def _has_scripts(result):
    """Whether plain scripts were timed, which nothing proves."""
    return any(contender["lane"] == modules.PLAIN for contender in result["contenders"].values())


def _kind(bench):
    """Which question a bench answers, beside those of ``questions``."""
    if _has_scripts(bench.result):
        return SCRIPTS
    if not of_frameworks(bench):
        return LISTED
    rounded = _of_one_framework(bench.result["contenders"], "bf16", "best")
    return ROUNDED if rounded else FASTEST


def _lane(result):
    """The lane of most contenders; None if several lanes have as many."""
    lanes = Counter(contender["lane"] for contender in result["contenders"].values())
    (lane, most), *others = lanes.most_common()
    return None if others and others[0][1] == most else lane


def _question(bench):
    """The question of a bench's kind."""
    result, kind = bench.result, _kind(bench)
    model, lane, threads = ALL[result["model"]], _lane(result), result["threads"]
    if kind == SCRIPTS:
        return PLAIN_SCRIPTS
    if kind == ROUNDED:
        return titled("Is bfloat16 faster than float32?", model)
    if kind == LISTED:
        return titled("How fast is each contender?", model)
    name = "the CNN" if model.name == "cnn" else model.title
    where = " in lane " + lane if lane else ""
    if threads != result["machine"]["cores"]:
        where += " with %d thread%s" % (threads, "s" * (threads > 1))
    return "Which framework trains %s fastest%s?" % (name, where)


def benched(used, machine):
    """The tables of one machine: one for each bench, but a single one for a network's levers.

    Workers that share a batch have a single table for all networks.
    """
    newer, others = newest([bench for bench in used.benches if bench.machine == machine])
    return [compared(bench) for bench in newer + others] + questions(used, machine)


def questions(used, machine):
    """The tables of one machine that answer further questions."""
    benches = [bench for bench in used.benches if bench.machine == machine]
    levers = [bench for bench in benches if any(_levers(bench))]
    workers = [bench for bench in benches if any(_shared(bench.result))]
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
    rows, drawn, rivals, unknown, several = [], [], [], [], result["runs"] > 1
    kind, lane = _kind(bench), _lane(result)
    against = result.get("against") if since else None
    for key, contender in sorted(result["contenders"].items(), key=lambda item: -item[1]["ratio"]):
        name = _with_comma(key) + mark(result, key)
        ratio = contender["ratio"], *contender["interval"]
        measured = _is_measured(*contender["interval"])
        drawn += [(name, *ratio)] * measured
        if lane in (None, contender["lane"]):  # the others are a yardstick
            (rivals if measured else unknown).append((name, *ratio))
        product = contender.get("share_of_matmul")
        rows.append(
            [
                (name, bench.path),
                contender["verdict"] if measured else "not judged",
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
        "{}, {}: {}, {} threads, batches of {}{}. Ratios of speed are relative to `{}`; an "
        "interval that contains 1 shows no difference. Within and between runs: the spread of the "
        "ratios. Others: the cores' largest share that other programs used in any one block.{}"
    ).format(
        bench.machine,
        _when(result),
        _runs(result),
        result["threads"],
        result["batch_size"],
        " unless a contender's name gives others" if kind == LISTED else "",
        result["baseline"],
        "" if several else ONE_RUN,
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
    title, command = _question(bench), _command(model)
    where = "%s %s, %s" % (title, bench.machine, _when(result))
    figure = partial(study_figures.ratios, _key(bench), where, drawn, [bench], command)
    baseline = _with_comma(result["baseline"]) + mark(result, result["baseline"])
    answered = [("Proof", BELIEVE % len(rows))]
    if kind == SCRIPTS:
        answered = _beside_scripts(result["contenders"])
    elif kind == ROUNDED:
        answered = _rounded(result["contenders"]) + answered
    elif kind == FASTEST:
        answered = _fastest(rivals, unknown, baseline, several) + answered
    return Table(title, note, columns, rows, figure if drawn else None, answered)


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
        ends = dict.fromkeys("%.2f" % end for end in (min(ratios), max(ratios)))
        text = "Lane best is %s times as fast as a script of the same framework"
        text = text % " to ".join(ends)
        text += "; no difference is shown for %s." % ", ".join(level) if level else "."
        said.append(("Answer", text))
    return said + [("Proof", "The lanes passed every rung. Nothing proves the scripts.")]


def _rounded(timed):
    """How lane bf16 compares with lane best of the same framework."""
    verdicts = OrderedDict((verdict, []) for verdict in VERDICTS)
    for name, (ratio, ends) in _of_one_framework(timed, "bf16", "best").items():
        verdicts[compare.verdict(ends)].append("%s %.2f (%.2f–%.2f)" % (name, ratio, *ends))
    said = [
        "%s: %s." % (verdict.capitalize(), ", ".join(names))
        for verdict, names in verdicts.items()
        if names
    ]
    text = " ".join(["Lane bf16, relative to lane best of the same framework."] + said)
    return [("Answer", text)]


def _fastest(rivals, unknown, baseline, several):
    """Who is fastest, if the intervals show it.

    rivals: the fastest first. unknown: those whose intervals say nothing. baseline: its name and
    mark. several: whether there was more than one run.
    """
    said = []
    if rivals:
        (name, _, low, _), *others = rivals
        level = [other for other, _, _, most in others if most >= low]
        if level:
            of = "%s of %s" % ("those" if len(level) > 1 else "that", "; ".join(level))
            text = "No contender is shown to be the fastest: the interval of %s overlaps with %s."
            said.append(text % (name, of))
        else:
            text = "%s is the fastest%s: its interval overlaps with no other."
            said.append(text % (name, "" if several else " in this one run"))
    if unknown:
        names = "; ".join(name for name, *_ in unknown)
        said.append("Not judged, because their runs differ too much: %s." % names)
    if rivals and rivals[0][0] != baseline:
        figures = (*rivals[0], baseline.replace(" †", ""))
        said.append("%s has %.2f times (%.2f–%.2f) the speed of %s." % figures)
    return [("Answer", " ".join(said))]


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
        "its quartiles, and the speed relative to {} with its 95% interval.{}"
    ).format(
        bench.machine,
        result["made"][:10],
        _runs(result),
        result["threads"],
        noun,
        _with_comma(first),
        "" if result["runs"] > 1 else ONE_RUN,
    )
    names = {contenders.read(key).name for key in result["scaling"]}
    study = about(STEP.get(model.name, NONE), names)
    answered = answers(study, _parted(result["scaling"])) if study.question else ()
    columns = ["contender", "a step ", "1,000 %s " % noun, "off ", "memory "]
    columns += ["batch %d " % size for size in sizes]
    title = study.question or "What does a step cost, and what each %s?" % noun[:-1]
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
    """A contender's mark if its module's code has changed since."""
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
    """Workers that share a batch, beside one process with one worker's threads and with all."""
    rows, gains, speeds = [], {}, {}
    for bench in benches:
        for key, three in _shared(bench.result):
            model, plain = bench.result["model"], key._replace(batch_size=None)
            size = key.batch_size or bench.result["batch_size"]
            times = (three[line]["seconds_per_step"] for line in (WORKERS[2], WORKERS[1]))
            ratio, interval = compare.ratio(*times)
            lines = speeds.setdefault("%s, %s" % (_with_comma(plain.text), model), {})
            for line, contender in three.items():
                lines.setdefault(line, []).append((size, contender["per_second"]))
            gains.setdefault((plain, model), []).append((size, compare.verdict(interval)))
            rows.append(_shared_row(bench, key, three, ratio, interval))
    runs = min([bench.result["runs"] for bench in benches], default=0)
    fits = any(bench.result.get("scaling") for bench in benches)
    note = (
        "{}, {} ({}). Same threads: as many as one worker has. All threads: as many as all workers "
        "have. {}Exchange: the part of a worker's step that one process with the same threads does "
        "not need for the same share of the batch: waiting, exchanging gradients, and sharing "
        "memory."
    ).format(
        machine,
        ", ".join(sorted({bench.result["made"][:10] for bench in benches})),
        "%d runs or more" % runs
        if runs > 1
        else "one run: the intervals do not cover how processes differ from start to start",
        "Fits: a step's time as a fixed cost and a cost for each image. " if fits else "",
    )
    columns = ["contender", "network", "million parameters ", "batch "]
    columns += [line + ", /s " for line in WORKERS]
    columns += ["workers relative to all threads (95%) ", "", "exchange "]
    title = SHARED.question
    command = "tox run -e bench -- NAME:LANE NAME:LANE/THREADS NAME:LANE/WORKERSxTHREADS"
    command += " --model MODEL"
    figure = partial(
        study_figures.shared, "workers-" + machine, title + " " + machine, speeds, benches, command
    )
    study = about(SHARED, {key.name for key, _ in gains})
    return Table(title, note, columns, rows, figure, answers(study, _won(benches, gains, runs)))


def _alone(key, threads, result):
    """A contender with workers, as one process with so many threads."""
    return key._replace(workers=1, threads=None if threads == result["threads"] else threads)


def _shared(result):
    """Yield (a contender with workers, {line of the chart: figures}) if all three were timed."""
    known = result["contenders"]
    for text in known:
        key = contenders.read(text)
        if key.workers > 1:
            each = [_alone(key, n, result).text for n in (key.threads, key.workers * key.threads)]
            if set(each) <= set(known):
                yield key, OrderedDict(zip(WORKERS, (known[name] for name in each + [text])))


def _shared_row(bench, key, three, ratio, interval):
    """The cells of a contender with workers, beside one process."""
    result, name = bench.result, _with_comma(key._replace(batch_size=None).text)
    return [
        (name + mark(result, key.text), bench.path),
        result["model"],
        "%.2g" % (_parameters(result["model"]) / 1e6),
        str(key.batch_size or result["batch_size"]),
        *("%.0f" % contender["per_second"] for contender in three.values()),
        "%.2f (%.2f–%.2f)" % (ratio, interval[0], interval[1]),
        compare.verdict(interval),
        _exchange(result, key, three["workers"]["seconds_per_step"]),
    ]


def _won(benches, gains, runs):
    """In words, with which batches workers are faster.

    gains: {(contender, model): (batch size, verdict) pairs}.
    """
    won = []
    for (key, model), sizes in sorted(gains.items(), key=str):
        won_with = _sizes(sorted(sizes)) + _crossing(benches, key, model, sorted(sizes))
        won.append("%s, %s: %s" % (_with_comma(key.text), model, won_with))
    start = "Workers, compared with one process that has as many threads as all of them%s: "
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


def _crossing(benches, key, model, verdicts):
    """In words, the batch size from which workers win according to the fits of a step's time.

    verdicts: sorted (batch size, verdict) pairs. Empty unless the fits agree with all of these:
    the crossing must lie below the largest size that was timed.
    """
    for bench in benches:
        fits = bench.result.get("scaling", {})
        whole = _alone(key, key.workers * key.threads, bench.result).text
        if bench.result["model"] != model or not {key.text, whole} <= set(fits):
            continue
        extra = fits[key.text]["overhead_per_step"] - fits[whole]["overhead_per_step"]
        gained = fits[whole]["seconds_per_image"] - fits[key.text]["seconds_per_image"]
        size = max(key.workers, int(np.ceil(extra / gained))) if gained > 0 else np.inf
        faster = [verdict == "faster" for _, verdict in verdicts]
        if any(faster) and faster == [batch >= size for batch, _ in verdicts]:
            if not all(faster):  # nothing is known of batches below the smallest
                return ", according to the fits faster from batches of %d" % size
    return ""


def _exchange(result, key, times):
    """The share of a worker's step that is not computing its part of the batch, or a dash."""
    size = (key.batch_size or result["batch_size"]) // key.workers
    alone = _at(result, _alone(key, key.threads, result).text, size)
    if alone is None:
        return "-"
    own = np.median(np.concatenate(result["contenders"][alone]["seconds_per_step"]))
    return "%.0f%%" % (100 * (1 - own / np.median(np.concatenate(times))))


def pulled(benches, machine, model):
    """The effect of each lever of a network, in lane best or only tried."""
    found = [pair for bench in benches for pair in _levers(bench)]
    rows, drawn = [row for row, _ in found], [ratio for _, ratio in found if ratio]
    when = {bench.result["made"][:10] for bench in benches}
    runs = {bench.result["runs"] for bench in benches}
    study = about(LEVERS.get(model.name, NONE), {row[0][0].split(" †")[0] for row in rows})
    title = titled(study.question or "What does each lever gain?", model)
    command = _command(model, " --levers")
    note = (
        "{}, {}. Each lever alone: lane best with it relative to lane best without it, both proven "
        "and timed in turn (runs of each: {}): `{}`. `frameworks/NAME/variants.py` has them."
    ).format(machine, ", ".join(sorted(when)), " or ".join(map(str, sorted(runs))), command)
    answered = answers(study, _gained(rows)) if study.question else ()
    columns = ["environment", "lever", "batch ", "ratio of speed (95%) ", "", "in lane best"]
    key = "levers-%s-%s" % (model.name, machine)
    figure = partial(study_figures.ratios, key, title + " " + machine, drawn, benches, command)
    return Table(title, note, columns, rows, figure if drawn else None, answered)


def _levers(bench):
    """Yield (the cells of a lever, its ratio of speed by name; None if it was not proven)."""
    result = bench.result
    for text, contender in result["contenders"].items():
        key = contenders.read(text)
        plain = key._replace(lever=None).text
        without = result["contenders"].get(plain)
        here = key.name in frameworks.ENVIRONMENTS
        if key.lever is None or key.lane != "best" or without is None or not here:
            continue
        levers = modules.levers(key.name, result["model"])
        known = levers.get(key.lever)
        ratio, (low, high) = contender["ratio"], contender["interval"]
        if result["baseline"] != plain:
            times = contender["seconds_per_step"], without["seconds_per_step"]
            ratio, (low, high) = compare.ratio(*times)
        if known is None:
            lever, ratio, low, high = turned(key.lever, ratio, low, high)
            known = levers.get(lever)
        if known is None:
            continue
        if known.kept:  # the lever takes it away
            ratio, low, high = 1 / ratio, 1 / high, 1 / low
        name = key.name + mark(result, plain)
        row = [
            (name, bench.path),
            known.says,
            str(contender.get("batch_size", result["batch_size"])),
            _ratio(ratio, low, high),
            compare.verdict((low, high)),
            "yes" if known.kept else "no",
        ]
        yield row, ("%s: %s" % (name, known.says), ratio, low, high)
    for text, failed in result.get("not_proven", {}).items():
        key = contenders.read(text)
        if key.name in frameworks.ENVIRONMENTS:
            known = modules.levers(key.name, result["model"]).get(key.lever)
            says = known.says if known else key.lever
            yield [(key.name, bench.path), says, "-", "-", "not proven: " + failed, "no"], None


def _gained(rows):
    """The effect of each lever in words, from the rows of ``pulled``."""
    gains = OrderedDict()
    for (name, _), says, size, ratio, verdict, _ in rows:
        known = verdict in ("faster", "slower")
        gain = "%s, %s times as fast" % (verdict, ratio.split()[0]) if known else verdict
        gains.setdefault((name.replace(" †", ""), size), []).append("%s: %s" % (says, gain))
    return ". ".join(
        "A step of %s with batches of %s, in lane best with each of these relative to lane best "
        "without it: %s" % (name, size, "; ".join(each))
        for (name, size), each in gains.items()
    )
