"""Exceptions for bad input, as opposed to bugs."""


class InputError(Exception):
    """Bad input from the user. The message is one line that names the input and the cause.

    The command line prints only the message and exits with code 2.
    """


class NotProven(InputError):
    """A module failed a rung.

    failed: the rung and its message.
    """

    def __init__(self, who, failed):
        super().__init__("%s is not proven: %s" % (who, failed))
        self.failed = failed
