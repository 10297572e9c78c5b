"""python -m common.lessons [NAME]: what the original's lessons are worth, in NAME's environment."""

import os
import sys

from common.host import commands, environments
from common.lessons import study


def command(arguments):
    """Make the environment, and become the study in it."""
    options = study.parse(arguments)
    environments.make([options.name])
    inside = environments.inside(options.name, "-m", "common.lessons.study", *arguments)
    environ = dict(os.environ)
    environ.pop(commands.SPEAKER)  # the study itself says why it was stopped
    sys.stdout.flush()
    os.execve(inside[0], inside, environ)


sys.exit(commands.guarded(command, sys.argv[1:]))
