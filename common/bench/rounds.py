"""Time rounds of blocks: each contender in turn, then the machine itself."""

import time
from collections import OrderedDict
from multiprocessing.pool import ThreadPool

import numpy as np
import psutil

from common.bench import compare, remote
from common.bench.process import PRODUCT
from common.system import load, machine, memory
from common.system.errors import InputError, NotProven

LEAST_ROUNDS = 10  # fewer would not show the spread
LOOK = 5  # rounds between two checks of the precision; one lucky check does not end a run
SETTLE = 0.3  # pause in seconds while the previous contender's threads stop spinning
FREE = 2 * 2**30  # bytes of memory that must be free after a contender has started


def busy():
    """Seconds for which the usable cores have been busy since the machine started."""
    seconds = load.busy(machine.allowed_cores())
    if seconds is None:
        times = psutil.cpu_times()
        seconds = times.user + times.system + times.nice
    return seconds


def bandwidth(threads):
    """Bytes read and written per second when copying an array; the best of three."""
    source = np.ones(2**25)  # 256 MiB
    target = np.ones_like(source)
    parts = list(zip(np.array_split(target, threads), np.array_split(source, threads)))
    seconds = []
    with ThreadPool(threads) as pool:
        for _ in range(3):
            started = time.perf_counter()
            pool.starmap(np.copyto, parts)
            seconds.append(time.perf_counter() - started)
    return 2 * source.nbytes / min(seconds)


class Records:
    """The measurements of a bench.

    sizes: {contender: its batch size}.
    times: {contender: [[seconds per step of each round] of each run]}.
    others: {contender: [the cores' share that other processes used during each block]}.
    facts: {contender: [its process's facts in each run]}.
    rounds: the machine's speeds in each round.
    not_proven: {contender that was left out: the failed rung and its message}.
    """

    def __init__(self, request):
        self.request = request
        self.sizes = {key: request.size(key) for key in request.contenders}
        self.times, self.others, self.facts = (
            OrderedDict((key, []) for key in request.contenders) for _ in range(3)
        )
        self.rounds, self.not_proven = [], OrderedDict()

    def leave_out(self, key, error):
        """Continue without a contender that is not proven; raise the error if only one is left."""
        self.not_proven[key] = error.failed
        for values in (self.sizes, self.times, self.others, self.facts):
            del values[key]
        if len(self.times) < 2:
            raise error

    def compared(self, measure, key, runs=slice(None)):
        """``measure`` applied to a contender's and the baseline's times per image in some runs."""
        return measure(self.per_image(key)[runs], self.per_image(self.request.baseline)[runs])

    def per_image(self, key):
        """A contender's ``times`` per image or sequence."""
        return [np.divide(run, self.sizes[key]) for run in self.times[key]]

    def only(self, runs):
        """Forget what follows the first ``runs`` runs."""
        rounds = sum(len(run) for run in self.times[self.request.baseline][:runs])
        for key in self.times:
            del self.times[key][runs:], self.facts[key][runs:], self.others[key][rounds:]
        del self.rounds[rounds:]
        self.request = self.request._replace(runs=runs)

    def precise(self, runs=slice(None)):
        """Whether all ratios have the requested precision."""
        return all(
            self.compared(compare.precision, key, runs) <= self.request.precision
            for key in self.times
            if key != self.request.baseline
        )


def block(contender, steps):
    """Time a block: seconds per step, and the share of the cores that others used."""
    time.sleep(SETTLE)
    before, started = busy(), time.perf_counter()
    answer = contender.order(steps)
    window = (time.perf_counter() - started) * len(machine.allowed_cores())
    others = busy() - before - answer["cpu_seconds"]
    return answer["seconds"] / steps, max(0.0, others / window)


def in_order(names, number):
    """The contenders in the order of a round: every second round reverses the one before.

    So a machine that slows down within rounds slows all of them alike. Each pair of rounds begins
    with another contender.
    """
    shift = number // 2 % len(names)
    rotated = names[shift:] + names[:shift]
    return rotated[::-1] if number % 2 else rotated


def time_rounds(request, records, remotes):
    """Time the rounds of one run."""
    steps, last = {}, slice(-1, None)
    for key, contender in remotes.items():  # an uncounted block, to choose the number of steps
        seconds, _ = block(contender, 2)
        steps[key] = max(1, round(request.seconds / seconds))
    end = time.perf_counter() + 60 * request.minutes / request.runs
    number, precise = 0, 0
    while number < LEAST_ROUNDS or (time.perf_counter() < end and precise < 2):
        for key in in_order(list(records.times), len(records.rounds)):  # counts all runs
            seconds, others = block(remotes[key], steps[key])
            records.times[key][-1].append(seconds)
            records.others[key].append(others)
        time.sleep(SETTLE)
        speed = {"matmul_flops": machine.matmul_flops(), "bandwidth": bandwidth(request.threads)}
        mixed = [key for key in remotes if request.contenders[key].lane == "bf16"]
        flops = [remotes[key].order(PRODUCT).get("flops") for key in mixed]
        if any(flops):
            speed["bfloat16_flops"] = max(filter(None, flops))
        records.rounds.append(speed)
        number += 1
        ratios = [
            "%s %.3f" % (key, np.exp(np.median(records.compared(compare.logs, key, last)[0])))
            for key in records.times
        ]
        print("round %-4d %s" % (number, ", ".join(ratios)), flush=True)
        if number >= LEAST_ROUNDS and number % LOOK == 0:
            precise = precise + 1 if records.precise(last) else 0


def run(request, number, records, listener, token):
    """Start every contender, and time one run."""
    remotes = OrderedDict()
    try:
        for key in in_order(list(records.times), number):
            print("starting   %s" % key, flush=True)
            try:
                remotes[key] = remote.Remote(key, request, listener, token)
            except NotProven as error:
                if not request.levers or key == request.baseline:
                    raise
                print("left out   %s" % error, flush=True)
                records.leave_out(key, error)
                continue
            if memory.available() < FREE:
                counts = (len(remotes), len(records.times))
                raise InputError("memory ran short with %d of %d contenders started" % counts)
        for key, contender in remotes.items():
            records.facts[key].append(contender.facts)
            records.times[key].append([])
        time_rounds(request, records, remotes)
        for key, contender in remotes.items():
            records.facts[key][-1].update(contender.order(0))
    finally:
        remote.stop(remotes.values())
