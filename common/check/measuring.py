"""Start the processes of a check, and collect what they measure."""

import json
import os
import subprocess
import sys
import tempfile

from common.check.trials import Trial
from common.profiles import kernels
from common.system import commands, environments, machine, shell
from common.system.errors import InputError
from common.system.files import ROOT

PLAIN = Trial("as it is", "")
PRODUCT = (
    "import json; from common.system import machine; "
    "print(json.dumps([machine.matmul_flops(), machine.versions('numpy')]))"
)


class Installation:
    """A user's installation; each measurement is a process of its own.

    base: the environment variables of a plain process. own: those that the user's shell sets.
    """

    def __init__(self, path, name, model, base, own):
        self.path, self.name, self.model, self.base, self.own = path, name, model, base, own

    def prove(self):
        """None if its module in lane best is proven, or else the reason."""
        threads = machine.usable_cores()
        return self._answer(PLAIN._replace(threads=threads), "--prove").get("not_proven")

    def time(self, trial=PLAIN):
        """A worker's answer, and "per_second": observations per second."""
        answer = self._answer(trial)
        return dict(answer, per_second=self.model.hp.batch_size / answer["seconds_per_step"])

    def kernels(self):
        """oneDNN's kernels for a step's convolutions, as ``kernels.read`` gives them."""
        with tempfile.TemporaryFile() as log:
            self._ask(PLAIN._replace(add=kernels.SWITCHES), log, "--kernels")
            return kernels.read(environments.printed(log))

    def _answer(self, trial, *options):
        with tempfile.TemporaryFile() as log:
            return self._ask(trial, log, *options)

    def _ask(self, trial, log, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "answer.json")
            command = [self.path, "-m", "common.check.worker", self.name, path]
            command += ["--model", self.model.name, *options]
            command += ["--threads", str(trial.threads)] if trial.threads else []
            command = _on_all_cores(command) if trial.cores else command
            code = commands.call(command, log, env=trial.environ(self.base), cwd=ROOT)
            if code or not os.path.isfile(path):  # a wrapper may hide the exit code
                raise InputError("%s: %s" % (trial.name, environments.reason(code, log)))
            with open(path) as file:
                return json.load(file)


def _on_all_cores(command):
    """The command, started on all cores of the machine, as far as its container allows that."""
    code = "import os, sys; os.sched_setaffinity(0, range(os.cpu_count())); "
    return [sys.executable, "-c", code + "os.execv(sys.argv[1], sys.argv[1:])"] + command


def yardstick():
    """{"product": the speed of this machine's matrix product, "versions"}: by our own NumPy.

    It is what the committed shares refer to; the user's shell does not reach it.
    """
    environ = {key: value for key, value in os.environ.items() if not shell.tunes(key)}
    environ.update(PYTHONPATH=ROOT, OPENBLAS_NUM_THREADS=str(machine.usable_cores()))
    command = [sys.executable, "-c", PRODUCT]
    try:
        output = subprocess.check_output(command, env=environ, cwd=ROOT)
    except subprocess.CalledProcessError as error:
        raise InputError("the machine's matrix product could not be timed: %s" % error)
    product, versions = json.loads(output.decode())
    return {"product": product, "versions": versions}
