"""python -m common.rosetta compare, challenge or dump. ``--help`` lists the options."""

import sys

from common.rosetta import command

sys.exit(command.main())
