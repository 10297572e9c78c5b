"""python -m common.lessons [NAME]: throw the original's lessons. ``--help`` lists the options."""

import sys

from common.host import commands
from common.lessons import study

sys.exit(commands.guarded(study.start, sys.argv[1:]))
