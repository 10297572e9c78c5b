"""Module's own file of weights, ``.params``.

Idiom: ``save_params``; a parameter's name in the file is ``arg:`` and its name in the symbol.
Surprise: Gluon's ``save_parameters`` writes the same ending, but names without ``arg:``, which
    ``load_params`` cannot read.
"""


def save(model, path):
    """Write the model's weights."""
    model[0].save_params(path)


def restore(model, path):
    """Read weights into the model; the predictor shares them."""
    model[0].load_params(path)
