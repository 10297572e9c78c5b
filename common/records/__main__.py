"""python -m common.records: make proofs and their records. ``--help`` lists the options."""

import sys

from common.records import prove
from common.system import commands

sys.exit(commands.guarded(prove.command, sys.argv[1:]))
