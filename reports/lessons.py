"""The lessons of the original comparison, and whether they hold here."""

from collections import Counter, namedtuple
from functools import partial

import tomllib

from common.bench import compare
from common.lessons import differences
from common.lessons.switches import SWITCHES
from reports import study_figures
from reports.bench_tables import mark
from reports.committed import HERE
from reports.studies import turned
from reports.table import Table, dagger, kind

Lesson = namedtuple("Lesson", "says published switches levers holds most command why")
Lesson.__doc__ = """A lesson.

says: the lesson.
published: the original's finding.
switches: the key in ``common.lessons.switches`` of those that show it in the accuracy.
levers: {name: what it does} of the levers that show it in the time.
holds: the verdicts, on a difference or a ratio, that agree with the lesson; None if it is about
    GPUs alone, and a CPU's verdict is only given beside it.
most: the largest difference that was published, in percentage points; None if there is none.
command: measures it; None if only a GPU shows it.
why: why it does not hold here, if that is known.
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
    """Whether a lesson holds, by a verdict on an interval; never if there may be no difference.

    If the lesson gives a largest difference, the whole interval decides.
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
Finding.__doc__ = """The effect of one switch or lever.

text: with its figures.
verdict: HELD, NOT_HELD, NOT_SHOWN or UNDECIDED; if only GPUs count, "faster" or "slower".
path: the result file.
length: (images, epochs) of a training; None of a time.
"""


def _length(result):
    return result["dataset"]["train_images"], result["hyperparameters"]["epochs"]


def _spelled(length):
    return "{:,} × {}".format(*length)


def in_accuracy(lesson, studies, name):
    """The effect of each switch of a lesson; ``name(study)`` names a study."""
    findings = []
    for study in studies:
        for key, difference in study.result["differences"].items():
            switch = SWITCHES.get(key)
            if switch is None or switch.lesson != lesson.switches:
                continue
            low, high = difference["interval"]
            figures = (
                name(study),
                switch.says,
                difference["mean"],
                low,
                high,
                len(difference["points"]),
            )
            text = "%s: %s %+.2f points (%+.2f to %+.2f; %d seeds)" % figures
            verdict = held(lesson, differences.verdict((low, high)), (low, high))
            findings.append(Finding(text, verdict, study.path, _length(study.result)))
    return findings


def in_time(lesson, benches, name):
    """The effect of each lever of a lesson: the speed with it, against without it.

    If several benches have a framework's lever, the latest one counts.
    """
    findings = {}
    for bench in sorted(benches, key=lambda bench: bench.result["made"]):
        for key, contender in bench.result["contenders"].items():
            plain, plus, lever = key.partition("+")
            lever, *figures = turned(lever, contender["ratio"], *contender["interval"])
            if not plus or lever not in lesson.levers or bench.result["baseline"] != plain:
                continue
            text = "%s: %s %.3f times as fast (%.3f to %.3f)"
            text %= (name(bench, plain), lesson.levers[lever], *figures)
            verdict = held(lesson, compare.verdict(figures[1:]), figures[1:])
            findings[bench.machine, plain, lever] = Finding(text, verdict, bench.path)
    return list(findings.values())


def together(lesson, findings):
    """One verdict on all findings; different ones are counted.

    A lesson may hold after a short training and not after a long one: each length has a verdict.
    """
    if not findings:
        return NEEDS_GPU if lesson.command is None else NOT_MEASURED
    verdicts = []
    for length in sorted(
        {finding.length for finding in findings}, key=lambda of: of or (), reverse=True
    ):
        counted = _counted([finding for finding in findings if finding.length == length])
        verdicts.append("after %s: %s" % (_spelled(length), counted) if length else counted)
    verdict = ". ".join(verdicts)
    return "%s. On CPUs: %s" % (NEEDS_GPU, verdict) if lesson.holds is None else verdict


def explained(lesson, verdict):
    """A verdict, and why the lesson does not hold here, if that is known."""
    return verdict + ". " + lesson.why if NOT_HELD in verdict and lesson.why else verdict


def _counted(findings):
    counts = Counter(finding.verdict for finding in findings)
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join("%s: %d of %d" % (verdict, n, len(findings)) for verdict, n in counts.items())


def learnt(used):
    """The lessons of that comparison: a row for each, with the findings here."""

    def place(committed):
        return " on " + committed.machine if several else ""

    def of_study(committed):
        result = committed.result
        words = (result["framework"], result["lane"], kind(result), place(committed))
        return "%s, %s, %s%s" % words + dagger(result)

    def of_bench(bench, key):
        return key.replace(":", ", ") + place(bench) + mark(bench.result, key)

    benches = [bench for bench in used.benches if bench.result["model"] == "cnn"]
    several = len({committed.machine for committed in benches + used.studies}) > 1
    rows = []
    for lesson in LESSONS:
        findings = in_accuracy(lesson, used.studies, of_study)
        findings += in_time(lesson, benches, of_bench)
        rows.append(
            [
                lesson.says,
                lesson.published,
                [(finding.text, finding.path) for finding in findings] or "-",
                explained(lesson, together(lesson, findings)),
                lesson.command or "-",
            ]
        )
    note = (
        "The original comparison gives ten pieces of advice, each from one run. Here each one that "
        "needs no GPU is a switch. Points of accuracy: the accuracy with the switch minus the "
        "accuracy without, from the same seeds; the mean over the seeds with its 95% interval by "
        "Student's t. Intervals use the variance pooled over all runs of a study; dropout in "
        "prediction has its own. The published figures are after 10 epochs of 50,000 images; ours "
        "give their length. Speed: lane best with the change relative to lane best, with its 95% "
        "interval. Held: the interval is on the published side, or on the side that the advice "
        "implies; for ±1 point, inside it. No difference shown: the interval covers both sides, "
        "which does not prove that they are equal. Of twenty equal pairs, one will show a "
        "difference by chance, and the switches of a study share its plain runs."
    )
    columns = ["lesson", "published", "found here", "verdict", "command"]
    title = "Does the original's advice hold?"
    drawn = []
    for study in used.studies:
        for key, difference in study.result["differences"].items():
            if key in SWITCHES:
                label = "%s: %s" % (of_study(study), SWITCHES[key].says)
                drawn.append((label, difference["mean"], *difference["interval"]))
    command = "tox run -e lessons -- NAME"
    figure = partial(study_figures.points, "lessons", title, drawn, used.studies, command)
    return Table(title, note, columns, rows, figure if drawn else None)
