"""python -m common.sweep NAME:LANE ...: are accuracies equivalent? ``--help`` lists the options."""

import sys

from common.sweep import sweep
from common.system import commands

sys.exit(commands.guarded(sweep.command, sys.argv[1:]))
