"""The lessons of the comparison that this began with, and whether they hold here."""

from collections import namedtuple
from functools import partial

import tomllib

from common.bench import compare
from common.lessons import differences
from common.lessons.switches import SWITCHES
from reports import study_figures
from reports.bench_tables import mark
from reports.committed import HERE
from reports.studies import turned
from reports.table import CHANGED, Table, kind, module_is_as_it_was

Lesson = namedtuple("Lesson", "says published switches levers holds most command why")
Lesson.__doc__ = """A lesson.

says: what is to be learnt.
published: what was found there.
switches: the key of those of ``common.lessons.switches`` that show it in the accuracy.
levers: {name: what it does} of those of a framework's ``variants.LEVERS`` that show it in the time.
holds: the verdicts, on a difference or a ratio, that are as it was published or as the lesson's
    advice has it; None where it speaks of GPUs alone, and a CPU's verdict stands beside it.
most: as published, a difference of so many percentage points at most; None if that was not said.
command: what measures it; None where only a GPU shows it.
why: why it does not hold here, where that is so.
"""

HELD = "held"
NOT_HELD = "did not hold here"
NOT_SHOWN = "no difference shown"
UNDECIDED = "not decided: the interval is too wide"
NOT_MEASURED = "not measured yet"
NEEDS_GPU = "cannot be seen without a GPU"


def _lesson(says, published, switches=None, levers=None, holds=None, most=None, why=""):
    command = None
    if switches:
        command = "`tox run -e lessons -- --lessons %s`" % switches
    elif levers:
        command = "`tox run -e bench -- NAME --levers`"
    return Lesson(says, published, switches, levers or {}, holds, most, command, why)


with open(HERE / "lessons.toml", "rb") as file:
    LESSONS = [_lesson(**lesson) for lesson in tomllib.load(file)["lesson"]]


def held(lesson, word, interval):
    """What a verdict on an interval says of a lesson; nothing is held that may be no difference.

    Of a difference that was published as so much at most, the whole interval decides.
    """
    if lesson.most is not None:
        low, high = interval
        if -lesson.most <= low and high <= lesson.most:
            return HELD
        return NOT_HELD if low > lesson.most or high < -lesson.most else UNDECIDED
    if word == NOT_SHOWN or lesson.holds is None:
        return word
    return HELD if word in lesson.holds else NOT_HELD


Finding = namedtuple("Finding", "text verdict path length", defaults=(None,))
Finding.__doc__ = """What one switch or lever showed.

text: with its figures.
verdict: HELD, NOT_HELD, NOT_SHOWN or UNDECIDED; where only GPUs count, "faster" or "slower".
path: the result file.
length: (images, epochs) of a training; None of a time.
"""


def _length(result):
    return result["dataset"]["train_images"], result["hyperparameters"]["epochs"]


def _spelled(length):
    return "{:,} × {}".format(*length)


def in_accuracy(lesson, studies, name):
    """What each switch of a lesson showed; ``name`` names a study, whose files are ``studies``."""
    found = []
    for study in studies:
        for key, one in study.result["differences"].items():
            switch = SWITCHES.get(key)
            if switch is None or switch.lesson != lesson.switches:
                continue
            low, high = one["interval"]
            told = (name(study), switch.says, one["mean"], low, high, len(one["points"]))
            text = "%s: %s %+.2f points (%+.2f to %+.2f; %d seeds)" % told
            verdict = held(lesson, differences.verdict((low, high)), (low, high))
            found.append(Finding(text, verdict, study.path, _length(study.result)))
    return found


def in_time(lesson, benches, name):
    """What each lever of a lesson showed: the speed with it pulled, against without.

    Where several benches have a framework's lever, the one made last counts.
    """
    found = {}
    for bench in sorted(benches, key=lambda bench: bench.result["made"]):
        for key, one in bench.result["contenders"].items():
            plain, plus, lever = key.partition("+")
            lever, ratio, low, high = turned(lever, one)
            if not plus or lever not in lesson.levers or bench.result["baseline"] != plain:
                continue
            told = (name(bench, plain), lesson.levers[lever], ratio, low, high)
            text = "%s: %s %.3f times as fast (%.3f to %.3f)" % told
            verdict = held(lesson, compare.verdict((low, high)), (low, high))
            found[bench.machine, plain, lever] = Finding(text, verdict, bench.path)
    return list(found.values())


def together(lesson, findings):
    """One verdict on all findings: each that there is, with how often, if there are several.

    What holds after a short training need not hold after a long one: each length has its own.
    """
    if not findings:
        return NEEDS_GPU if lesson.command is None else NOT_MEASURED
    verdicts = []
    for length in sorted({one.length for one in findings}, key=lambda of: of or (), reverse=True):
        told = _counted([one for one in findings if one.length == length])
        verdicts.append("after %s: %s" % (_spelled(length), told) if length else told)
    told = ". ".join(verdicts)
    return "%s. On CPUs: %s" % (NEEDS_GPU, told) if lesson.holds is None else told


def explained(lesson, verdict):
    """A verdict, and why the lesson does not hold here, where that is known."""
    return verdict + ". " + lesson.why if NOT_HELD in verdict and lesson.why else verdict


def _counted(findings):
    counts = {}
    for finding in findings:
        counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join("%s: %d of %d" % (one, n, len(findings)) for one, n in counts.items())


def learnt(used):
    """The lessons of that comparison: a row for each, with what is found here."""

    def place(one):
        return " on " + one.machine if several else ""

    def of_study(one):
        mark = "" if module_is_as_it_was(one.result) else " †"
        found = one.result
        told = (found["framework"], found["lane"], kind(found), place(one), mark)
        return "%s, %s, %s%s%s" % told

    def of_bench(one, key):
        return key.replace(":", ", ") + place(one) + mark(one.result, key)

    benches = [one for one in used.benches if one.result["model"] == "cnn"]
    several = len({one.machine for one in benches + used.studies}) > 1
    rows = []
    for lesson in LESSONS:
        findings = in_accuracy(lesson, used.studies, of_study)
        findings += in_time(lesson, benches, of_bench)
        told = "; ".join(finding.text for finding in findings) or "-"
        paths = {finding.path for finding in findings}
        rows.append(
            [
                lesson.says,
                lesson.published,
                (told, paths.pop()) if len(paths) == 1 else told,
                explained(lesson, together(lesson, findings)),
                lesson.command or "-",
            ]
        )
    note = (
        "That comparison drew ten lessons, from one run each. Here each that needs no GPU is a "
        "switch that is thrown. In points of accuracy: that of a training with it less that of one "
        "without, from the same seeds; the mean over the seeds, with its 95% interval by Student's "
        "t. Chance is the residual after the effects of seed and switch, pooled over a study, as "
        "if it spread all its trainings alike; dropout in prediction has its own. What was "
        "published is after 10 epochs of 50,000 images; here the length stands with each. In "
        "speed: lane best with that change against lane best, the ratio with its 95% interval. "
        "Held: the interval lies on the side that was published, or that the lesson's advice "
        "implies; of ±1 point, wholly within it. No difference shown: it reaches over both sides, "
        "which is no proof that there is none. Each interval stands alone: of twenty equal pairs, "
        "one may show a difference; and the switches of a study share its plain trainings, so that "
        "a lucky one moves them all. " + CHANGED
    )
    columns = ["lesson", "published", "found here", "verdict", "command"]
    title = "The original's lessons"
    drawn = []
    for one in used.studies:
        trained = "%s, %s: " % (one.result["framework"], _spelled(_length(one.result)))
        for key, found in one.result["differences"].items():
            if key in SWITCHES:
                drawn.append((trained + SWITCHES[key].says, found["mean"], *found["interval"]))
    command = "tox run -e lessons -- NAME"
    figure = partial(study_figures.points, "lessons", title, drawn, used.studies, command)
    return Table(title, note, columns, rows, figure if drawn else None)
