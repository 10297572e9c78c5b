"""The one exception that stands for bad input rather than a defect."""


class InputError(Exception):
    """Something the user gave cannot be used; the message is one line naming it and the cause.

    The command line prints the message alone and exits with code 2.
    """
