"""Zip archives from strangers."""

import zipfile
from contextlib import contextmanager

# Python unpacks others in steps of any size, whatever size the archive declares.
KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@contextmanager
def opened(file):
    """An open archive, of a path or an open file; ValueError if it is packed in a rare way."""
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.compress_type not in KINDS:
                raise ValueError("%.80r is packed in a way that is not read here" % entry.filename)
        yield archive
