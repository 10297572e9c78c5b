"""python -m common.lessons [NAME]: throw the original's lessons. ``--help`` lists the options."""

import sys

from common.lessons import study
from common.system import commands

sys.exit(commands.guarded(study.start, sys.argv[1:]))
