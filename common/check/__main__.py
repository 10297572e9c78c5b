"""python -m common.check NAME --python PATH: judge an installation. ``--help`` has more."""

import sys

from common.check import check
from common.system import commands

sys.exit(commands.guarded(check.command, sys.argv[1:]))
