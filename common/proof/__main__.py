"""python -m common.proof NAME: certify one framework. ``--help`` lists the options."""

import sys

from common.proof import certificate
from common.system import commands

sys.exit(commands.guarded(certificate.command, sys.argv[1:]))
