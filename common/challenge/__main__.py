"""python -m common.challenge write, answer, check or compare. ``--help`` lists the options."""

import sys

from common.challenge import challenge
from common.system import commands

sys.exit(commands.guarded(challenge.command, sys.argv[1:]))
