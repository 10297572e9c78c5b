"""Time training passes, waiting for the device, and summarise the times."""

import math
import time
from collections import namedtuple

import numpy as np

from common.system import commands

LONG = 0.05  # seconds of reading last losses that may show a ``wait`` that does not wait
READING = 0.25  # and their share of the steps' time
UNEVEN = 1.5  # the mean step, in median ones, that shows steps made many at a time
BLOCK = 8  # steps between two readings; frequent readings would make an asynchronous device wait

Pass = namedtuple("Pass", "losses blocks seconds outside")
Pass.__doc__ = """One timed pass over the batches.

losses: each step's loss, as a float.
blocks: (steps, seconds) of each block; the first step of a run is a block of its own.
seconds: from the first batch until the device has finished the last.
outside: the part of these seconds that reading and reporting losses took.
"""


class Stop(Exception):
    """A run cannot continue; the message is one line that says why."""


class NotFinite(Stop):
    """A number is not finite."""

    def __init__(self, what):
        super().__init__("%s is not a finite number: the run was stopped" % what)


def timed_pass(module, model, batches, steps, before=None, report=lambda losses, seconds: None):
    """Train one pass over the batches, and time it block by block.

    NotFinite at the first loss that is not finite, Stop if the number of losses is not ``steps``,
    or if reading them took long: then ``wait`` did not wait for the device.
    ``before`` is the list of the run's losses so far; this pass's are appended. Each block ends
    with ``report(losses, seconds)``. Reading a loss makes an asynchronous framework wait, so losses
    are read once per block, after the clock.
    """
    before = [] if before is None else before
    first_pass, start = not before, len(before)
    blocks, unread, outside, reading = [], [], 0.0, 0.0
    started = block_started = time.perf_counter()

    def end_block():
        nonlocal block_started, outside, reading
        module.wait(model)
        now = time.perf_counter()
        blocks.append((len(unread), now - block_started))
        float(unread[-1])  # it is there now, or this takes as long as the steps do
        reading += time.perf_counter() - now
        for loss in map(float, unread):
            if not math.isfinite(loss):
                raise NotFinite("the loss of step %d (%s)" % (len(before) + 1, loss))
            before.append(loss)
        report(before[-len(unread) :], now - block_started)
        unread.clear()
        block_started = time.perf_counter()
        outside += block_started - now

    for loss in module.train(model, batches):
        commands.check_interrupt()
        unread.append(loss)
        if len(unread) == BLOCK or (first_pass and not blocks):
            end_block()
    if unread:
        end_block()
    if len(before) - start != steps:
        raise Stop("train() yielded %d losses for %d batches" % (len(before) - start, steps))
    if reading > max(LONG, READING * sum(seconds for _, seconds in blocks)):
        raise Stop("wait() returned before the device had finished: its work was timed nowhere")
    return Pass(before[start:], blocks, block_started - started, outside)


def spread(values):
    """The median and quartiles of ``values``, and their number."""
    low, median, high = np.percentile(values, [25, 50, 75])
    return {"median": median, "quartiles": [low, high], "n": len(values)}


def summary(passes, batch_size):
    """The training times of a run, in seconds, from its passes.

    ``step`` and ``images_per_second`` leave out the first step, which compiles, tunes and
    allocates. ``step`` summarises the mean step of each block. The speed is that of the median,
    unless a few blocks took most of the time, as where a module makes many steps at once and then
    yields their losses; then it is that of the mean.
    """
    steady = [block for timed in passes for block in timed.blocks][1:] or passes[0].blocks
    steps = spread([seconds / count for count, seconds in steady])
    mean = sum(seconds for _, seconds in steady) / sum(count for count, _ in steady)
    typical = steps["median"] if mean < UNEVEN * steps["median"] else mean
    total = sum(timed.seconds for timed in passes)
    return {
        "first_step": passes[0].blocks[0][1],
        "epochs": [timed.seconds for timed in passes],
        "train": total,
        "step": steps,
        "images_per_second": batch_size / typical,
        "runner_share": sum(timed.outside for timed in passes) / total,
    }
