"""python -m common.proof NAME: certify one framework. ``--help`` lists the options."""

import sys

from common.host import commands
from common.proof import certificate

sys.exit(commands.guarded(certificate.command, sys.argv[1:]))
