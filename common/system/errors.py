"""The exceptions for bad input, as opposed to defects."""


class InputError(Exception):
    """Bad input from the user; the message is one line that names it and the cause.

    The command line prints the message alone and exits with code 2.
    """


class NotProven(InputError):
    """A module has failed a rung.

    failed: the rung and its message.
    """

    def __init__(self, who, failed):
        super().__init__("%s is not proven: %s" % (who, failed))
        self.failed = failed
