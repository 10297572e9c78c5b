"""Time frameworks against each other: in turn, in blocks, each in a process that stays alive.

A machine is never quite the same for two minutes, so what is compared is timed in the same minute:
block by block A B C, then B C A, and so on, until the ratios are as precise as was asked for or the
time is over. In each round the machine's matrix product and its memory are timed, too.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict
from datetime import datetime, timezone

import numpy as np
import psutil

import frameworks
from common.bench import compare
from common.bench.worker import TOKEN
from common.given import models
from common.host import commands, machine, modules
from common.host.errors import InputError
from common.host.files import ROOT, check_writable
from common.proof import contract
from common.run import results

SCHEMA_VERSION = 1
LEAST = 5  # rounds: fewer show no spread
SETTLE = 0.3  # seconds between two blocks: threads of the last one still spin
OTHERS = 0.05  # of the cores' time: more than that, used by others, is told
STARTED = 1800  # seconds that a worker may take to be proven and to train its first step


def parse(arguments):
    """The command line's options; InputError where it is off."""
    parser = commands.OneLineParser(prog="python -m common.bench", description=__doc__)
    number, cores = commands.whole_number, machine.usable_cores()
    parser.add_argument("contenders", nargs="+", metavar="NAME[:LANE]", help="both lanes if none")
    parser.add_argument("--baseline", metavar="NAME:LANE", help="by default the first contender")
    parser.add_argument("--model", choices=list(models.ALL), default="cnn")
    parser.add_argument("--threads", type=commands.thread_count, default=cores, metavar="N")
    parser.add_argument("--runs", type=number, default=1, metavar="N", help="of each process")
    parser.add_argument("--minutes", type=number, default=10, metavar="N", help="for each run")
    parser.add_argument(
        "--precision", type=share, default=0.01, metavar="SHARE", help="half an interval's width"
    )
    parser.add_argument("--seconds", type=number, default=2, metavar="N", help="of a block")
    parser.add_argument("--out", metavar="RESULT.json", help="the result file")
    options = parser.parse_args(arguments)
    contenders = [one for text in options.contenders for one in lanes(text, options.model)]
    options.contenders = list(OrderedDict.fromkeys(contenders))
    options.baseline = options.baseline or options.contenders[0]
    if options.baseline not in options.contenders:
        raise InputError("--baseline %s is not among the contenders" % options.baseline)
    return options


def share(text):
    """An option's value that must be above 0 and below 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1:
        raise InputError("argument --precision: %r is not a share between 0 and 1" % text)
    return value


def lanes(text, model):
    """NAME:LANE of each lane that ``text`` means; InputError if it means none."""
    name, _, lane = text.partition(":")
    modules.find(name, model)
    if lane and lane not in contract.LANES:
        raise InputError("%s: the lanes are %s" % (text, " and ".join(contract.LANES)))
    return ["%s:%s" % (name, one) for one in ([lane] if lane else contract.LANES)]


def start(key, options, python=("-m", "tox", "exec", "-qq", "-e", "{name}", "--", "python")):
    """The command that starts a worker, in its own environment."""
    name, lane = key.split(":")
    command = [sys.executable] + [part.format(name=name) for part in python]
    command += ["-m", "common.bench.worker", name, "--lane", lane]
    return command + ["--model", options.model, "--threads", str(options.threads)]


class Worker:
    """A contender in its environment, as the bench sees it."""

    def __init__(self, key, options, listener, token):
        self.key, self.started = key, time.perf_counter()
        self.log = tempfile.TemporaryFile("w+")
        command = start(key, options) + ["--port", str(listener.getsockname()[1])]
        environment = dict(os.environ, **{TOKEN: token})
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=self.log, stderr=subprocess.STDOUT
        )
        self.connection = self.accept(listener)
        self.lines = self.connection.makefile("rw")
        if self.hear()["token"] != token:
            raise InputError("%s: another process answered" % key)
        self.facts = self.hear()
        self.facts["until_first_step"] = time.perf_counter() - self.started

    def accept(self, listener):
        """Wait until the worker calls; InputError with its last words if it ends instead."""
        listener.settimeout(1)
        while time.perf_counter() - self.started < STARTED:
            try:
                connection, _ = listener.accept()
                connection.settimeout(STARTED)
                return connection
            except socket.timeout:
                if self.process.poll() is not None:
                    break
        raise InputError("%s did not start: %s" % (self.key, self.last_words()))

    def last_words(self):
        """The last line that the worker printed."""
        self.log.seek(0)
        lines = [line.strip() for line in self.log if line.strip()]
        return lines[-1] if lines else "it said nothing"

    def hear(self):
        """The worker's next answer; InputError if it gives up."""
        line = self.lines.readline()
        answer = json.loads(line) if line else {"error": self.last_words()}
        if "error" in answer:
            raise InputError("%s: %s" % (self.key, answer["error"]))
        return answer

    def tell(self, steps):
        """Have it train so many steps, or end if that is 0; its answer."""
        self.lines.write("%d\n" % steps)
        self.lines.flush()
        return self.hear()

    def stop(self):
        """End it, one way or another."""
        self.connection.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        self.log.close()


def block(worker, steps):
    """A block of ``steps``: seconds per step, and the share of the cores that others used."""
    time.sleep(SETTLE)
    before = busy()
    answer = worker.tell(steps)
    others = busy() - before - answer["cpu_seconds"]
    cores = machine.usable_cores()
    return answer["seconds"] / steps, max(0.0, others / (answer["seconds"] * cores))


def busy():
    """Seconds that all CPUs together have worked since the machine started."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0)


def bandwidth(megabytes=256):
    """Bytes a second that are read and written by copying an array, the best of a few."""
    source = np.zeros(megabytes * 2**20 // 8)
    target = np.ones_like(source)
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        np.copyto(target, source)
        seconds.append(time.perf_counter() - started)
    return 2 * source.nbytes / min(seconds)


class Records:
    """All that was timed: {contender: [an array of seconds per step for each run]}, and so on."""

    def __init__(self, options):
        self.options = options
        self.facts = OrderedDict((key, []) for key in options.contenders)
        self.times = OrderedDict((key, []) for key in options.contenders)
        self.others = OrderedDict((key, []) for key in options.contenders)
        self.machine = []

    def ratio(self, key):
        """(ratio to the baseline, its interval) of what has been timed so far."""
        return compare.ratio(self.times[key], self.times[self.options.baseline])

    def precise(self):
        """Whether all ratios are as precise as was asked for."""
        base = self.times[self.options.baseline]
        return all(
            compare.precision(times, base) <= self.options.precision
            for key, times in self.times.items()
            if key != self.options.baseline
        )

    def round(self, workers, order, steps):
        """Time a block of each, and the machine."""
        for key in order:
            seconds, others = block(workers[key], steps[key])
            self.times[key][-1].append(seconds)
            self.others[key].append(others)
        self.machine.append({"matmul_flops": machine.matmul_flops(), "bandwidth": bandwidth()})


def run(options, number, records, listener, token):
    """Start every contender, and time them round by round."""
    keys = options.contenders
    started_in = keys[number % len(keys) :] + keys[: number % len(keys)]
    workers, steps = OrderedDict(), {}
    try:
        for key in started_in:
            print("starting   %s" % key, flush=True)
            workers[key] = worker = Worker(key, options, listener, token)
            steps[key] = max(1, round(options.seconds / worker.facts["seconds_per_step"]))
            records.facts[key].append(worker.facts)
            records.times[key].append([])
        deadline = time.perf_counter() + 60 * options.minutes
        rounds = 0
        while rounds < LEAST or time.perf_counter() < deadline:
            shift = rounds % len(keys)
            records.round(workers, started_in[shift:] + started_in[:shift], steps)
            rounds += 1
            told = ", ".join("%s %.3f" % (key, records.ratio(key)[0]) for key in keys)
            print("round %-4d %s" % (rounds, told), flush=True)
            if rounds >= LEAST and records.precise():
                break
        for key, worker in workers.items():
            records.facts[key][-1].update(worker.tell(0))
    finally:
        for worker in workers.values():
            worker.stop()


def result(options, records, machine_facts):
    """What is written: a dict of JSON values."""
    description = models.find(options.model)
    size = description.hp.batch_size
    forward, first = description.multiply_adds
    matmul = float(np.median([one["matmul_flops"] for one in records.machine]))
    contenders = OrderedDict()
    for key in options.contenders:
        times = records.times[key]
        name, lane = key.split(":")
        per_second = size / float(np.median(np.concatenate(times)))
        value, interval = records.ratio(key)
        contenders[key] = OrderedDict(
            framework=name,
            lane=lane,
            title=frameworks.FRAMEWORKS[name].title,
            images_per_second=per_second,
            ratio=value,
            interval=interval,
            verdict="" if key == options.baseline else compare.verdict(interval),
            between_runs=compare.between_runs(times),
            share_of_matmul=per_second * 2 * (3 * forward - first) / matmul,
            others=max(records.others[key]),
            seconds_per_step=times,
            processes=records.facts[key],
        )
    return OrderedDict(
        schema=SCHEMA_VERSION,
        made=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        machine=machine_facts,
        model=options.model,
        threads=options.threads,
        batch_size=size,
        baseline=options.baseline,
        precision=options.precision,
        precise=records.precise(),
        matmul_flops=matmul,
        bandwidth=float(np.median([one["bandwidth"] for one in records.machine])),
        rounds=records.machine,
        contenders=contenders,
    )


def summary(found):
    """The comparison in a few lines of text, the fastest first."""
    lines = ["", "%-22s %9s  %-26s %s" % ("", "images/s", "ratio (95%)", "of matrix product")]
    contenders = found["contenders"]
    for key in sorted(contenders, key=lambda key: -contenders[key]["ratio"]):
        one = contenders[key]
        told = (one["ratio"],) + tuple(one["interval"])
        ratio = "baseline" if key == found["baseline"] else "%.3f (%.3f to %.3f)" % told
        cells = (key, one["images_per_second"], ratio, 100 * one["share_of_matmul"])
        lines.append("%-22s %9.0f  %-26s %.0f%%" % cells)
        if one["verdict"] == "no difference shown":
            lines[-1] += "  no difference shown"
        if one["others"] > OTHERS:
            told = (key, 100 * one["others"])
            lines.append("  while %s was timed, others used up to %.0f%% of the CPUs" % told)
    rounds = [one["matmul_flops"] for one in found["rounds"]]
    told = (min(rounds) / 1e9, max(rounds) / 1e9, found["bandwidth"] / 1e9)
    lines.append("matrix product %.0f to %.0f GFLOP/s, memory %.0f GB/s" % told)
    if not found["precise"]:
        lines.append("the time was over before every ratio was as precise as asked for")
    return "\n".join(lines)


def command(arguments):
    """Exit code 0 when all is timed."""
    options = parse(arguments)
    facts = machine.facts()
    path = options.out or os.path.join(
        ROOT, "reports", "bench", machine.folder_name(facts), options.model + ".json"
    )
    check_writable(path)
    machine.limit_threads(options.threads)
    records, token = Records(options), secrets.token_hex(16)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        for number in range(options.runs):
            run(options, number, records, listener, token)
    found = result(options, records, facts)
    results.write(path, found)
    print(summary(found))
    print("result file  %s" % os.path.relpath(path))
    return 0
