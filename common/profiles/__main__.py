"""python -m common.profiles NAME ...: where a step's time goes. ``--help`` lists the options."""

import sys

from common.profiles import profiles
from common.system import commands

sys.exit(commands.guarded(profiles.command, sys.argv[1:]))
