"""Time frameworks against each other: in turn, in blocks, each in a process that stays alive.

A machine is never the same for two minutes, so what is compared is timed in turn: block by block
A B C, then B C A, and so on, until the ratios are as precise as was asked for or the time is over.
In each round the machine's matrix product and its memory are timed, too.
"""

import argparse
import fcntl
import hashlib
import os
import re
import secrets
import socket
import time
from collections import OrderedDict
from contextlib import contextmanager
from multiprocessing.pool import ThreadPool

import numpy as np
import psutil

import frameworks
from common import networks
from common.bench import against, compare, keys, remote, scaling
from common.bench.contender import PRODUCT
from common.proof import contract
from common.run import results
from common.system import commands, debian, environments, machine, modules, workers
from common.system.errors import InputError, NotProven
from common.system.files import ROOT, cache_folder, check_writable, now

SCHEMA_VERSION = 1
LEAST_ROUNDS = 10  # fewer show no spread
LOOK = 5  # rounds between two looks at the precision; one lucky look does not end a run
SETTLE = 0.3  # seconds between two blocks: threads of the last one still spin
OTHERS_TOLD = 0.05  # of the cores' time: more than that, used by others, is told
FREE = 2 * 2**30  # bytes of memory that must be left when a contender has started


def parse(arguments):
    """The command line's options; InputError where it is off."""
    parser = commands.OneLineParser(prog="python -m common.bench", description=__doc__)
    number, cores = commands.whole_number, machine.usable_cores()
    parser.add_argument(
        "contenders", nargs="*", metavar=keys.FORM, help="both lanes if none is named"
    )
    parser.add_argument("--baseline", metavar="CONTENDER", help="by default the first one")
    parser.add_argument(
        "--batch-sizes",
        type=number,
        nargs="+",
        metavar="N",
        help="each contender with each of these: what a step costs, and what an image",
    )
    parser.add_argument(
        "--levers",
        action="store_true",
        help="each framework's best lane, and beside it each lever that is known for it",
    )
    parser.add_argument("--model", choices=list(networks.ALL), default="cnn")
    parser.add_argument("--threads", type=commands.thread_count, default=cores, metavar="N")
    parser.add_argument(
        "--runs", type=number, default=3, metavar="N", help="all started anew N times"
    )
    parser.add_argument("--minutes", type=number, default=10, metavar="N", help="of all rounds")
    parser.add_argument(
        "--precision",
        type=share,
        default=0.01,
        metavar="SHARE",
        help="a run ends when each interval is within this share on either side",
    )
    parser.add_argument("--seconds", type=number, default=2, metavar="N", help="of a block")
    parser.add_argument(
        "--against",
        metavar="RESULT.json",
        help="an earlier bench; its contenders, where none are named",
    )
    parser.add_argument("--out", metavar="RESULT.json", help="the result file")
    options = parser.parse_args(arguments)
    options.earlier = against.read(options.against) if options.against else None
    if options.earlier and not options.contenders:
        options.contenders = list(options.earlier["contenders"])
    if options.batch_sizes:
        sized = [text for text in options.contenders if "@" in text]
        if sized:
            raise InputError("%s has a batch size; leave it or --batch-sizes out" % sized[0])
        options.contenders = [
            "%s@%d" % (text, size) for text in options.contenders for size in options.batch_sizes
        ]
    if options.levers:
        options.contenders = [
            one for name in options.contenders for one in with_levers(name, options.model)
        ]
    contenders = [
        one for text in options.contenders for one in lanes(text, options.model, options.threads)
    ]
    options.contenders = list(OrderedDict.fromkeys(contenders))
    if len(options.contenders) < 2:
        raise InputError("a bench takes two contenders or more")
    options.baseline = options.baseline or options.contenders[0]
    if options.baseline not in options.contenders:
        told = (options.baseline, ", ".join(options.contenders))
        raise InputError("--baseline %s is not among the contenders, %s" % told)
    if options.earlier and not set(options.contenders) & set(options.earlier["contenders"]):
        raise InputError("%s has none of the contenders" % options.against)
    return options


def share(text):
    """An option's value that must be above 0 and below 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError("%r is not a share between 0 and 1" % text)
    return value


def lanes(text, model, threads):
    """The contender in each lane that ``text`` means; InputError where it cannot run here.

    A batch size that is the model's own, and threads that are the bench's, are not said again.
    """
    key = keys.read(text)
    framework = modules.find(key.name, model)
    if key.lane and key.lane not in contract.ALL_LANES:
        raise InputError("%s: the lanes are %s" % (text, ", ".join(contract.ALL_LANES)))
    modules.check_lane(key.name, key.lane, model)
    system = dict(framework.system, **debian.needs(workers.environment(key.name, key.workers)))
    packages = " ".join(debian.missing(system))
    if packages:
        raise InputError("%s: get what pip cannot bring with: apt install %s" % (text, packages))
    if key.lever is not None:
        if not key.lane:
            raise InputError("%s: a lever is pulled in one lane" % text)
        modules.find_lever(key.name, key.lever, model)
    usual = networks.find(model).hp.batch_size
    if (key.batch_size or usual) % key.workers:
        raise InputError("%s: so many workers cannot share a batch equally" % text)
    cores = machine.usable_cores()
    if key.workers * (key.threads or 1) > cores:
        raise InputError("%s: more threads than the %d cores there are" % (text, cores))
    if key.batch_size == usual:
        key = key._replace(batch_size=None)
    if key.threads == threads and key.workers == 1:
        key = key._replace(threads=None)
    return [
        keys.written(key._replace(lane=one)) for one in ([key.lane] if key.lane else contract.LANES)
    ]


def with_levers(name, model):
    """A framework's best lane, plain and with each lever; InputError where there is none."""
    modules.find(name, model)
    amd = machine.is_amd()
    levers = [key for key, one in modules.levers(name, model).items() if one.amd in (None, amd)]
    if not levers:
        raise InputError("no lever is known of %s's %s" % (name, model))
    return [name + ":best"] + ["%s:best+%s" % (name, lever) for lever in levers]


def result_path(options, facts):
    """Where a result goes without ``--out``: a folder per machine, a file per set of contenders.

    One that was compared with an earlier one takes no file's place.
    """
    names = [re.sub("[:+/@]", "-", key) for key in options.contenders]
    if options.levers:
        plain = [key for key in options.contenders if "+" not in key]
        names = ["levers"] + [key.partition(":")[0] for key in plain]
    elif len(names) > 4:
        digest = hashlib.sha256(" ".join(options.contenders).encode()).hexdigest()
        names = ["%d-contenders-%s" % (len(names), digest[:6])]
    threads = ["%dthreads" % options.threads] if options.threads != facts["cores"] else []
    later = ["against", options.earlier["made"][:10]] if options.earlier else []
    file = "-".join([options.model] + names + threads + later) + ".json"
    return os.path.join(ROOT, "reports", "bench", machine.folder_name(facts), file)


# The machine.


def busy():
    """Seconds that the cores which may be used have worked since the machine started."""
    times = psutil.cpu_times(percpu=True)
    if hasattr(os, "sched_getaffinity"):
        times = [times[core] for core in os.sched_getaffinity(0)]
    return sum(one.user + one.system + one.nice for one in times)


def bandwidth(threads, megabytes=256):
    """Bytes a second that are read and written by copying an array, the best of a few."""
    source = np.ones(megabytes * 2**20 // 8)
    target = np.ones_like(source)
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads)))
    seconds = []
    with ThreadPool(threads) as pool:
        for _ in range(3):
            started = time.perf_counter()
            pool.starmap(np.copyto, parts)
            seconds.append(time.perf_counter() - started)
    return 2 * source.nbytes / min(seconds)


@contextmanager
def alone():
    """Hold the machine's one permit to bench; InputError where another bench has it."""
    os.makedirs(cache_folder(), exist_ok=True)
    with open(os.path.join(cache_folder(), "bench.lock"), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another bench runs on this machine")
        yield


# The rounds.


class Records:
    """All that was timed.

    sizes: {contender: its batch size}.
    times: {contender: [[seconds per step of each round] of each run]}.
    others: {contender: [the cores' share that others used meanwhile, of each block]}.
    facts: {contender: [what its process said of itself, of each run]}.
    rounds: what was timed of the machine in each round.
    not_proven: {contender that was left out: the rung that failed, and what it says}.
    """

    def __init__(self, options):
        self.options = options
        usual = networks.find(options.model).hp.batch_size
        self.sizes = {key: keys.read(key).batch_size or usual for key in options.contenders}
        self.times, self.others, self.facts = (
            OrderedDict((key, []) for key in options.contenders) for _ in range(3)
        )
        self.rounds, self.not_proven = [], OrderedDict()

    def leave_out(self, key, error):
        """Go on without a lever that makes another network; the error where nothing is left."""
        self.not_proven[key] = error.failed
        self.options.contenders.remove(key)
        for kept in (self.sizes, self.times, self.others, self.facts):
            del kept[key]
        if len(self.times) < 2:
            raise error

    def compared(self, measure, key, runs=slice(None)):
        """``measure`` of a contender's and the baseline's times per image, in some of the runs."""
        return measure(*(self.per_image(one)[runs] for one in (key, self.options.baseline)))

    def per_image(self, key):
        """As ``times``, of one contender, for an image or a sequence."""
        return [np.divide(run, self.sizes[key]) for run in self.times[key]]

    def precise(self, runs=slice(None)):
        """Whether all ratios are as precise as was asked for."""
        return all(
            self.compared(compare.precision, key, runs) <= self.options.precision
            for key in self.times
            if key != self.options.baseline
        )


def block(contender, steps):
    """A block of ``steps``: seconds per step, and the share of the cores that others used."""
    time.sleep(SETTLE)
    before, started = busy(), time.perf_counter()
    answer = contender.tell(steps)
    window = (time.perf_counter() - started) * machine.usable_cores()
    others = busy() - before - answer["cpu_seconds"]
    return answer["seconds"] / steps, max(0.0, others / window)


def in_order(keys, number):
    """The contenders in the order of a round: another one begins, and every other time backwards.

    So nobody always follows the same one.
    """
    shift = number % len(keys)
    turned = keys[shift:] + keys[:shift]
    return turned[::-1] if number // len(keys) % 2 else turned


def rounds(options, records, remotes):
    """Time round after round of one run."""
    steps, last = {}, slice(-1, None)
    for key, one in remotes.items():  # a block that is not counted says how many steps take so long
        seconds, _ = block(one, 2)
        steps[key] = max(1, round(options.seconds / seconds))
    end = time.perf_counter() + 60 * options.minutes / options.runs
    number, precise = 0, 0
    while number < LEAST_ROUNDS or (time.perf_counter() < end and precise < 2):
        for key in in_order(options.contenders, number):
            seconds, others = block(remotes[key], steps[key])
            records.times[key][-1].append(seconds)
            records.others[key].append(others)
        time.sleep(SETTLE)
        speed = {"matmul_flops": machine.matmul_flops(), "bandwidth": bandwidth(options.threads)}
        mixed = [key for key in remotes if keys.read(key).lane == modules.MIXED]
        flops = [remotes[key].tell(PRODUCT).get("flops") for key in mixed]
        if any(flops):
            speed["bfloat16_flops"] = max(filter(None, flops))
        records.rounds.append(speed)
        number += 1
        told = [
            "%s %.3f" % (key, np.exp(np.median(records.compared(compare.logs, key, last)[0])))
            for key in options.contenders
        ]
        print("round %-4d %s" % (number, ", ".join(told)), flush=True)
        if number >= LEAST_ROUNDS and number % LOOK == 0:
            precise = precise + 1 if records.precise(last) else 0


def run(options, number, records, listener, token):
    """Start every contender, and time them round by round."""
    remotes = OrderedDict()
    try:
        for key in in_order(options.contenders, number):
            print("starting   %s" % key, flush=True)
            try:
                remotes[key] = remote.Remote(key, options, listener, token)
            except NotProven as error:
                if not options.levers or key == options.baseline:
                    raise
                print("left out   %s" % error, flush=True)
                records.leave_out(key, error)
                continue
            if psutil.virtual_memory().available < FREE:
                told = (len(remotes), len(options.contenders))
                raise InputError("memory is short with %d of %d contenders started" % told)
        for key, one in remotes.items():
            records.facts[key].append(one.facts)
            records.times[key].append([])
        rounds(options, records, remotes)
        for key, one in remotes.items():
            records.facts[key][-1].update(one.tell(0))
    finally:
        remote.stop(remotes.values())


# What is written and told.


def result(options, records, facts):
    """The result file's content: a dict of JSON values."""
    description = networks.find(options.model)
    matmul = float(np.median([one["matmul_flops"] for one in records.rounds]))
    contenders = OrderedDict()
    for key, times in records.times.items():
        name, lane = keys.read(key)[:2]
        per_second = 1 / float(np.median(np.concatenate(records.per_image(key))))
        value, interval = records.compared(compare.ratio, key)
        contenders[key] = OrderedDict(
            framework=name,
            lane=lane,
            title=frameworks.ENVIRONMENTS[name].title,
            batch_size=records.sizes[key],
            per_second=per_second,
            ratio=value,
            interval=interval,
            verdict="baseline" if key == options.baseline else compare.verdict(interval),
            within_runs=records.compared(compare.within_runs, key),
            between_runs=records.compared(compare.between_runs, key),
            seconds_per_step=times,
            others=records.others[key],
            processes=records.facts[key],
        )
        if records.facts[key][0]["settings"]["device"] == "cpu":
            operations = per_second * 2 * description.step_multiply_adds
            contenders[key]["share_of_matmul"] = operations / matmul
    bfloat16 = [one["bfloat16_flops"] for one in records.rounds if "bfloat16_flops" in one]
    found = OrderedDict(
        schema=SCHEMA_VERSION,
        made=now(),
        machine=facts,
        versions=machine.versions("numpy"),
        model=options.model,
        threads=options.threads,
        batch_size=description.hp.batch_size,
        baseline=options.baseline,
        runs=options.runs,
        precision=options.precision,
        precise=records.precise(),
        matmul_flops=matmul,
        bandwidth=float(np.median([one["bandwidth"] for one in records.rounds])),
        rounds=records.rounds,
        contenders=contenders,
        scaling=scaling.fits(contenders),
    )
    if bfloat16:
        found["bfloat16_flops"] = float(np.median(bfloat16))
    if records.not_proven:
        found["not_proven"] = records.not_proven
    return found


def summary(found):
    """The comparison in a few lines of text, the fastest first."""
    contenders, noun = found["contenders"], networks.find(found["model"]).task.observations
    row = "%-22s %11s  %-26s %7s %7s %8s  %s"
    heads = ("", noun + "/s", "ratio (95%)", "within", "between", "product", "")
    lines = ["", row % heads]
    for key in sorted(contenders, key=lambda key: -contenders[key]["ratio"]):
        one = contenders[key]
        ratio = "%.3f (%.3f to %.3f)" % ((one["ratio"],) + tuple(one["interval"]))
        spread = ["%.1f%%" % (100 * one[name]) for name in ("within_runs", "between_runs")]
        product = one.get("share_of_matmul")
        cells = [key, "%.0f" % one["per_second"], ratio] + spread
        cells += ["-" if product is None else "%.0f%%" % (100 * product), one["verdict"]]
        lines.append((row % tuple(cells)).rstrip())
    lines.append("within, between: how far the rounds of a run, and the runs, are apart")
    lines += [scaling.told(key, fit, noun) for key, fit in found["scaling"].items()]
    lines += ["left out: %s: %s" % one for one in found.get("not_proven", {}).items()]
    for key, one in contenders.items():
        if max(one["others"]) > OTHERS_TOLD:
            told = (key, 100 * max(one["others"]))
            lines.append("while %s was timed, others used up to %.0f%% of the cores" % told)
    speeds = [one["matmul_flops"] for one in found["rounds"]]
    told = (min(speeds) / 1e9, max(speeds) / 1e9, found["bandwidth"] / 1e9)
    lines.append("matrix product %.0f to %.0f GFLOP/s, memory %.0f GB/s" % told)
    if "bfloat16_flops" in found:
        lines.append("matrix product of bfloat16 %.0f GFLOP/s" % (found["bfloat16_flops"] / 1e9))
    if found["runs"] == 1:
        lines.append("one run: the intervals do not hold what another start would change")
    if not found["precise"]:
        lines.append("not every ratio is as precise as asked for")
    return "\n".join(lines)


def command(arguments):
    """Exit code 0 when all is timed."""
    options = parse(arguments)
    facts = machine.facts()
    path = options.out or result_path(options, facts)
    check_writable(path)
    if options.earlier:
        size = networks.find(options.model).hp.batch_size
        now = dict(model=options.model, threads=options.threads, batch_size=size)
        against.check(options.earlier, options.against, machine=facts, **now)
    with alone(), socket.socket() as listener:
        needed = [keys.read(key) for key in options.contenders]
        needed = [workers.environment(key.name, key.workers) for key in needed]
        environments.make(OrderedDict.fromkeys(needed))
        machine.limit_threads(options.threads)
        records, token = Records(options), secrets.token_hex(16)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        for number in range(options.runs):
            run(options, number, records, listener, token)
        found = result(options, records, facts)
    if options.earlier:
        found["against"] = against.since(found, options.earlier)
    results.write(path, found)
    print(summary(found))
    if options.earlier:
        print(against.summary(found["against"]))
    print("result file  %s" % os.path.relpath(path))
    return 0
