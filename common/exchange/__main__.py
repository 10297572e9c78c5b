"""python -m common.exchange NAME ...: move weights between frameworks. See ``--help``."""

import sys

from common.exchange import exchange
from common.system import commands

sys.exit(commands.guarded(exchange.command, sys.argv[1:]))
