"""python -m common.dump FILE OUT. ``--help`` lists the options."""

import sys

from common.dump import command
from common.system import commands

sys.exit(commands.guarded(command.command, sys.argv[1:]))
