"""python -m common.bench NAME:LANE ...: time frameworks in turn. ``--help`` lists the options."""

import sys

from common.bench import bench
from common.system import commands

sys.exit(commands.guarded(bench.command, sys.argv[1:]))
