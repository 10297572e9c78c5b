"""Recording a pass through an MXNet network, with the symbolic Module API.

Idiom: ``get_internals`` has every output inside a symbol; a ``Module`` of them computes them all.
Surprise: the weights are among them: only names that end in ``_output`` are computed.
"""

from collections import OrderedDict

import mxnet as mx


def record(model, x):
    """{name: array} of the images and of each operation's result, in the order of computation."""
    trainer, predictor = model
    inside = predictor.symbol.get_internals()
    names = [name for name in inside.list_outputs() if name.endswith("_output")]
    probe = mx.mod.Module(mx.sym.Group([inside[name] for name in names]), label_names=None)
    probe.bind([("data", x.shape)], for_training=False)  # no dropout
    probe.set_params(*trainer.get_params())
    probe.forward(mx.io.DataBatch([mx.nd.array(x)]))
    arrays = [output.asnumpy() for output in probe.get_outputs()]
    return OrderedDict([("x", x)] + list(zip(names, arrays)))
