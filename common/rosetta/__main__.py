"""python -m common.rosetta COMMAND. ``--help`` lists the commands, and each one its options."""

import sys

from common.rosetta import command

sys.exit(command.main())
