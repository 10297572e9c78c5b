"""rosetta compare, record, challenge, dump, guide: commands for your own code in any language."""

import os
import sys

from common.system import commands
from common.system.errors import InputError

GUIDE = os.path.join(os.path.dirname(__file__), "guide.md")  # a link to docs/for-agents.md
HELP = """\
rosetta compare A.npz B.npz       find the first difference between two recordings of any network
rosetta record FILE.onnx X OUT    record all that an ONNX file computes of the inputs X, an .npz
rosetta challenge write FOLDER    check a port of one of the project's networks, by way of files
rosetta dump FILE [OUT.npz]       list and convert the arrays of any framework's file
rosetta guide                     how a coding agent ports a network with compare as its gate

All but guide have --help.
Exit codes: 0; 2 for bad input; 3 if recordings differ or an answer is wrong."""


def compare(arguments):
    """Compare two recordings."""
    from common.compare import command

    parser = commands.OneLineParser(prog="rosetta compare")
    command.add_options(parser)
    return command.command(parser.parse_args(arguments))


def record(arguments):
    """Record what an ONNX file computes."""
    from common.compare import record_onnx

    return record_onnx.command(arguments)


def challenge(arguments):
    """Write or check a challenge."""
    from common.challenge import challenge

    return challenge.command(arguments)


def dump(arguments):
    """Dump a file of weights."""
    from common.dump import command

    return command.command(arguments)


def guide(arguments):
    """Print the page for coding agents."""
    with open(GUIDE, "rb") as file:
        sys.stdout.buffer.write(file.read())
    return 0


COMMANDS = {
    "compare": compare,
    "record": record,
    "challenge": challenge,
    "dump": dump,
    "guide": guide,
}


def command(arguments):
    """The exit code of one of ``COMMANDS``."""
    name = arguments[0] if arguments else ""
    if name in ("-h", "--help"):
        print(HELP)
        return 0
    if name not in COMMANDS:
        raise InputError(
            "choose compare, record, challenge, dump or guide; --help says what they do"
        )
    return COMMANDS[name](arguments[1:])


def main():
    """The exit code for this process's arguments."""
    return commands.guarded(command, sys.argv[1:])
