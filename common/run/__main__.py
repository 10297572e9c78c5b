"""python -m common.run NAME: run one framework. ``--help`` lists the options."""

import sys

from common.run import runner
from common.system import commands

sys.exit(commands.guarded(runner.main, sys.argv[1:]))
