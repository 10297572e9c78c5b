"""An object that shows that a file was unpickled, for the ``hostile.py`` of each folder."""


class Marks:
    """When it is unpickled, it makes a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (self.marker, "w")
