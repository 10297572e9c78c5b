"""Gluon's own file of weights, ``.params``.

Idiom: ``save_parameters``; a parameter is known by its layer's place in the network, ``0.weight``.
Surprise: ``export`` writes another ``.params``, whose names begin with ``arg:``, as Module's do.
"""


def save(model, path):
    """Write the model's weights."""
    model[0].save_parameters(path)


def restore(model, path):
    """Read weights into the model, on the device where it is."""
    network = model[0]
    device = next(iter(network.collect_params().values())).list_ctx()
    network.load_parameters(path, ctx=device)
