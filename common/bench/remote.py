"""The bench's side of a contender's process: start it, send it orders, end it."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

from common.bench.process import TOKEN
from common.system import commands, environments
from common.system.errors import InputError, NotProven
from common.system.files import ROOT

START_LIMIT = 1800  # seconds for a contender's proof and its first steps
ANSWER_LIMIT = 600  # seconds for a block of steps
PATIENCE = 5  # seconds before processes that do not end are killed


def start(contender, request):
    """The command that starts a contender in its environment."""
    command = environments.inside(contender.environment, "-m", "common.bench.process")
    command += [contender.name, "--lane", contender.lane, "--model", request.model.name]
    if contender.python:  # without a number of threads, the user's shell decides
        command += ["--python", contender.python]
    threads = contender.threads or (None if contender.python else request.threads)
    command += ["--threads", str(threads)] if threads else []
    command += ["--workers", str(contender.workers)] if contender.workers > 1 else []
    command += ["--lever", contender.lever] if contender.lever else []
    return command + (["--batch-size", str(contender.batch_size)] if contender.batch_size else [])


class Remote:
    """A contender's process; ``stop`` ends it and its children."""

    def __init__(self, key, request, listener, token):
        self.key = key
        self.connection = self.process = None
        self.log = tempfile.TemporaryFile()
        try:
            # Signals wait until ``self.process`` is set, so that ``stop`` can end it.
            port = str(listener.getsockname()[1])
            with commands.signals_wait():
                self.process = subprocess.Popen(
                    start(request.contenders[key], request) + ["--port", port],
                    cwd=ROOT,
                    env=dict(os.environ, **{TOKEN: token}),
                    stdin=subprocess.DEVNULL,
                    stdout=self.log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # so that its children can be ended with it
                )
            self.connection = self.accept(listener)
            self.lines = self.connection.makefile("rw")
            if self.answer().get("token") != token:
                raise InputError("%s: another process answered" % key)
            self.facts = self.answer()
            self.connection.settimeout(ANSWER_LIMIT)
        except BaseException:
            stop([self])
            raise

    def accept(self, listener):
        """Wait for its connection; InputError with its last line if it ends instead."""
        listener.settimeout(1)
        limit = time.perf_counter() + START_LIMIT
        while time.perf_counter() < limit and self.process.poll() is None:
            with suppress(socket.timeout):
                connection, _ = listener.accept()
                connection.settimeout(START_LIMIT)
                return connection
        raise InputError("%s did not start: %s" % (self.key, self.last_words()))

    def last_words(self):
        """The last line that it printed, not counting tox's own, and how it ended."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        code = self.process.poll()
        ended = "it has not ended" if code is None else "exit code %d" % code
        return "%s (%s)" % (environments.last_line(self.log), ended)

    def answer(self):
        """Its next answer; InputError if it is gone or reports an error."""
        try:
            answer = json.loads(self.lines.readline())
        except socket.timeout:
            raise InputError("%s does not answer: %s" % (self.key, self.last_words()))
        except (OSError, ValueError):
            raise InputError("%s has died: %s" % (self.key, self.last_words()))
        if "not_proven" in answer:
            raise NotProven(self.key, answer["not_proven"])
        if "error" in answer:
            raise InputError("%s: %s" % (self.key, answer["error"]))
        return answer

    def order(self, order):
        """Send an order: steps to train, 0 to end, or ``PRODUCT``; return its answer."""
        try:
            self.lines.write("%s\n" % order)
            self.lines.flush()
        except OSError:
            raise InputError("%s has died: %s" % (self.key, self.last_words()))
        return self.answer()


def stop(remotes):
    """End all processes; if an exception stopped the bench, do not wait for their blocks.

    A bench of levers goes on after it, and can still be stopped.
    """
    if sys.exc_info()[0] is None:
        end(remotes)
        return
    with commands.signals_ignored():
        end(remotes, signal.SIGTERM)


def end(remotes, number=None):
    """Close the connections, send this signal, and kill what does not end in time."""
    remotes = [remote for remote in remotes if remote.process]
    for remote in remotes:
        if remote.connection:
            with suppress(OSError):
                remote.connection.shutdown(socket.SHUT_RDWR)
    if number is not None:
        signal_all(remotes, number)
    limit = time.perf_counter() + PATIENCE
    for remote in remotes:
        with suppress(subprocess.TimeoutExpired):
            remote.process.wait(max(0.1, limit - time.perf_counter()))
    signal_all(remotes, signal.SIGKILL)  # a group outlives its first process
    for remote in remotes:
        remote.process.wait()
        remote.log.close()


def signal_all(remotes, number):
    """Send a signal to each contender and its children."""
    for remote in remotes:
        with suppress(ProcessLookupError):
            os.killpg(remote.process.pid, number)
