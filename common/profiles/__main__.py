"""python -m common.profiles NAME ...: where a step's time goes. ``--help`` lists the options."""

import sys

from common.host import commands
from common.profiles import profiles

sys.exit(commands.guarded(profiles.command, sys.argv[1:]))
