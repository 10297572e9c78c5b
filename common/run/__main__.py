"""python -m common.run NAME: run one framework. ``--help`` lists the options."""

import sys

from common.host import commands
from common.run import runner

sys.exit(commands.guarded(runner.main, sys.argv[1:]))
