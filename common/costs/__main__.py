"""python -m common.costs: what this project's own commands cost. ``--help`` lists the options."""

import sys

from common.costs import costs
from common.system import commands

sys.exit(commands.guarded(costs.command, sys.argv[1:]))
