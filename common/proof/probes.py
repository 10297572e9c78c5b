"""Hand-made weights, images and labels that make one property of a network visible.

They need nothing of a framework but that weights can be put in, trained for a step and taken out,
so the same probe serves every framework, alive or dead.
"""

from collections import namedtuple

import numpy as np

from common.given.weights import SHAPES

CLASSES = 10

Observation = namedtuple("Observation", "layer kept scale alike samples")
Observation.__doc__ = """What a dropout layer was seen to do in one training step.

layer: which of the three, 1 to 3.
kept: fraction of the values that were not zeroed.
scale: what the others were multiplied by.
alike: fraction of the values that met the same fate as their twin in the next observation, or as
    their neighbour in the same one, whichever is more: 1 where a mask is shared.
samples: how many values ``kept`` and ``alike`` were counted over.
"""


def zeros():
    """All-zero canonical weights."""
    return {name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()}


def pass_through():
    """Weights under which every layer hands its input on, as far as its shape lets it.

    Convolutions copy channel c to channels c, c + inputs, ...; the first dense layer picks 512 of
    the 6400 features, spread so that every channel, row and column occurs; the second sums the
    hidden units by their number modulo 10. Scores then tell which feature stood where.
    """
    weights = zeros()
    for layer in ("conv1", "conv2", "conv3", "conv4"):
        kernel = weights[layer + ".weight"]
        for out in range(kernel.shape[0]):
            kernel[out, out % kernel.shape[1], 1, 1] = 1
    for unit in range(512):
        # 1741 is coprime to 6400 and to 64, so the picks wander over channels and positions.
        weights["dense1.weight"][unit, unit * 1741 % 6400] = 1
        weights["dense2.weight"][unit % CLASSES, unit] = (1 + unit % 7) / 64.0
    return weights


def up_to(layer, weights):
    """``weights`` as far as ``layer`` inclusive, ``pass_through`` behind it; None: nowhere."""
    mixed = pass_through()
    for name in SHAPES if layer is not None else ():
        mixed[name] = weights[name]
        if name == layer + ".bias":
            break
    return mixed


def batch_order(batch_size):
    """Weights and ten batches whose losses fall from each batch to the next, for order's sake.

    The scores are the last layer's biases 0..9 whatever the image, and every label of batch k is
    k, so the loss of a batch tells its number, and a batch of mixed labels lies between.
    """
    weights = zeros()
    weights["dense2.bias"][:] = np.arange(CLASSES)
    images = np.zeros((batch_size, 3, 32, 32), np.float32)
    pairs = [(images, np.full(batch_size, k, np.int64)) for k in range(CLASSES)]
    return weights, pairs


def dropout_batch(batch_size):
    """(weights, images, labels) of one training step that shows all three dropout masks.

    The last layer's bias makes the network certain of class 0, so an observation labelled 0 gets
    no gradient, and one labelled k = 1..9 gets exactly -1 at score k. There is one of each. Hidden
    unit u is 1 before dropout and feeds only score 1 + u % 9, so its gradient comes from that one
    observation, and what its weights receive is that observation's features after dropout.
    Of these features channels 50..99 are 1 before dropout 2; channels 0..49 went through dropout 1
    too, where each pooling window of the second pool holds a single lit value, so that its mask
    is seen and not the maximum of four.
    """
    weights = zeros()
    for layer in ("conv1", "conv2"):
        weights[layer + ".weight"][:, 0, 1, 1] = 1  # every channel shows the first
    for layer in ("conv3", "conv4"):
        kernel = weights[layer + ".weight"]
        for channel in range(50):
            kernel[channel, channel, 1, 1] = 1
    weights["conv4.bias"][50:] = 1
    weights["dense1.bias"][:] = 1
    for hidden in range(512):
        weights["dense2.weight"][1 + hidden % 9, hidden] = 1 / 16.0
    weights["dense2.bias"][0] = 100
    images = np.zeros((batch_size, 3, 32, 32), np.float32)
    for row in (0, 1):
        for column in (0, 1):
            images[:, :, row::4, column::4] = 1
    labels = np.zeros(batch_size, np.int64)
    labels[1:10] = np.arange(1, 10)
    return weights, images, labels


def observe_dropout(before, after):
    """Read the three dropout layers' masks off the weights before and after ``dropout_batch``.

    Raises ValueError where nothing came through a layer at all.
    """
    step = {name: (before[name] - after[name]).astype(np.float64) for name in SHAPES}
    batch_gradient = -step["dense2.bias"][1:]  # of the nine observations: learning rate / batch
    mask3 = -step["dense2.weight"][1:] / batch_gradient[:, None]  # (9, 512)
    features = []
    for observation in range(9):
        fed = np.arange(observation, 512, 9)
        seen = fed[np.abs(step["dense1.bias"][fed]) > 0]
        if not len(seen):
            raise ValueError("no hidden unit of observation %d was kept" % (observation + 1))
        ratios = step["dense1.weight"][seen] / step["dense1.bias"][seen][:, None]
        features.append(ratios.mean(0).reshape(100, 64))
    features = np.array(features)  # (9, 100, 64)
    mask2 = features[:, 50:].reshape(9, -1)
    mask1 = features[:, :50].reshape(9, -1)  # of those that dropout 2 kept, too
    second = _observation(2, mask2)
    both = _observation(1, mask1)
    first = both._replace(kept=both.kept / second.kept, scale=both.scale / second.scale)
    return [first, second, _observation(3, mask3)]


def _observation(layer, mask):
    """Count a (9, features) mask of zeros and scales."""
    kept = np.abs(mask) > 1e-3
    if not kept.any():
        raise ValueError("dropout %d dropped everything" % layer)
    return Observation(
        layer=layer,
        kept=float(kept.mean()),
        scale=float(np.median(mask[kept])),
        alike=float(max((kept[1:] == kept[:-1]).mean(), (kept[:, 1:] == kept[:, :-1]).mean())),
        samples=kept.size,
    )
