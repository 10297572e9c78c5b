"""python -m common.lessons [NAME]: the original's lessons as switches. See ``--help``."""

import sys

from common.lessons import study
from common.system import commands

sys.exit(commands.guarded(study.command, sys.argv[1:]))
