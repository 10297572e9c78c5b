"""A table of text, as every table of the reports is."""

from collections import namedtuple

from common.given.models import MODELS

Table = namedtuple("Table", "title note columns rows")
Table.__doc__ = """A table of text.

title, note: what stands above it; the note may be empty.
columns: their heads; one that ends in a space is of numbers, and set flush right.
rows: lists of cells, each a text or a (text, link) pair.
"""


def titled(title, model):
    """The first model is what all speak of; the others are named."""
    return title if model is MODELS["cnn"] else "%s: %s" % (title, model.title)
