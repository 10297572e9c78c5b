"""The exceptions that stand for bad input rather than a defect."""


class InputError(Exception):
    """Something the user gave cannot be used; the message is one line naming it and the cause.

    The command line prints the message alone and exits with code 2.
    """


class NotProven(InputError):
    """A module has failed a rung.

    failed: the rung, and what it says.
    """

    def __init__(self, who, failed):
        super().__init__("%s is not proven: %s" % (who, failed))
        self.failed = failed
