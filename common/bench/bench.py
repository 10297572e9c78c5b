"""Time frameworks against each other, in turn, each in a process of its own.

A machine's speed changes from minute to minute, so contenders are timed in turn, in blocks: A B C,
then C B A, then B C A, and so on, until the ratios are precise enough or time is up. Each round
also times the machine's matrix product and its memory.
"""

import os
import secrets
import socket
from collections import OrderedDict
from contextlib import contextmanager

from common.bench import earlier, report, rounds
from common.bench.request import parse, result_path
from common.run import results
from common.system import commands, environments, machine, shell
from common.system.files import check_writable, locked


def alone():
    """Hold the machine's lock for benches; InputError if another bench holds it."""
    return locked("bench", "another bench runs on this machine")


@contextmanager
def kept_if_stopped(records, finished, facts, path):
    """Whatever stops a run, write those that are finished, beside the result file."""
    try:
        yield
    except BaseException:
        if finished:
            path = results.stopped(path)
            with commands.signals_ignored():
                records.only(finished)
                results.write(path, report.result(records, facts))
            print("%d of the runs  %s" % (finished, os.path.relpath(path)), flush=True)
        raise


def command(arguments):
    """Exit code 0 when all is timed."""
    request = parse(arguments)
    facts = machine.facts()
    path = request.out or result_path(request, facts)
    check_writable(path)
    if request.earlier:
        now = dict(model=request.model.name, threads=request.threads)
        now.update(batch_size=request.model.hp.batch_size, machine=facts)
        earlier.check(request.earlier, request.earlier_path, **now)
    shell.keep()
    with alone(), socket.socket() as listener:
        needed = [contender.environment for contender in request.contenders.values()]
        environments.make(OrderedDict.fromkeys(needed))
        machine.limit_threads(request.threads)
        records, token = rounds.Records(request), secrets.token_hex(16)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        for number in range(request.runs):
            with kept_if_stopped(records, number, facts, path):
                rounds.run(request, number, records, listener, token)
        result = report.result(records, facts)
    results.write(path, result)
    if request.earlier:
        result["against"] = earlier.since(result, request.earlier)
        results.write(path, result)
    print(report.summary(result))
    if request.earlier:
        print(earlier.summary(result["against"]))
    print("result file  %s" % os.path.relpath(path))
    return 0
