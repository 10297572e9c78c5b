"""python -m common.challenge write, answer or check. ``--help`` lists the options."""

import sys

from common.challenge import challenge
from common.host import commands

sys.exit(commands.guarded(challenge.command, sys.argv[1:]))
