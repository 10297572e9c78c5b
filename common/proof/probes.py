"""Weights that make one property of a model visible.

A framework only has to take weights, train a step and return them, so the same probes work in all.
"""

from collections import OrderedDict

import numpy as np

LARGER = 8  # times the initial weights of a transformer, whose activations would be all but linear
GATED = 4  # the same for a network of gates, whose gradients would be small
# {the last part of a batch normalisation's name: (the first channel with a negative bias, whether
# its biases are larger)}.
THIRDS = {"norm": (1, False), "norm1": (1, False), "norm2": (2, False), "norm3": (0, True)}


def zeros(model):
    """All-zero canonical weights."""
    return {name: np.zeros(shape, np.float32) for name, shape in model.shapes.items()}


def layers(model):
    """{layer: its tensors' names}, in order."""
    tensors = OrderedDict()
    for name in model.shapes:
        tensors.setdefault(name.rsplit(".", 1)[0], []).append(name)
    return tensors


def biased(model, seed):
    """The model's initial weights, with biases as after training; every fifth one is 0.

    Batch normalisation gets a small weight and a large bias, negative on a third of the channels.
    So the ReLU after it is open for all values of a channel or for none: no choice of images keeps
    all ReLUs of a deep network away from 0. Each convolution of a block has a different third, and
    the last bias outweighs the shortcut's.
    """
    random = np.random.RandomState(seed)
    weights = model.initialize(model.shapes, seed)
    for name, w in weights.items():
        layer, kind = name.rsplit(".", 1)
        if w.ndim > 1:
            if "attention" in model.traits:
                w *= LARGER
            elif "gated" in model.traits:
                w *= GATED
            continue
        noise = random.uniform(-0.1, 0.1, w.shape)
        w[:] = noise
        w[::5] = 0
        if kind == "weight" and layer + ".variance" not in weights:
            w += 1  # of a normalisation
        if layer + ".variance" in weights:
            w[:] = {"weight": 0.25, "bias": 4, "mean": 0, "variance": 1}[kind] * (1 + noise)
            if kind == "bias":
                third, larger = THIRDS[layer.split(".")[-1]]
                w *= 2 if larger else 1
                w[third::3] *= -1
            if kind == "mean":
                w[:] = noise
    return weights


def blank(model, seed):
    """As ``biased``, but the first unit of each layer has weights of 0 and a bias of 1.

    The bias opens ReLUs. After a step whose learning rate is a power of two, a weight that was 0
    has the digits of its gradient.
    """
    weights = biased(model, seed)
    for w in weights.values():
        w[0] = 0 if w.ndim > 1 else 1
    return weights


def sums(model):
    """Weights with which every layer adds a small number to a large one.

    The numbers are channels 1 and 0, which all layers pass on. The next layer subtracts channel 0
    from the sum and passes the remainder on. Score n is the remainder of layer n.
    """
    weights = zeros(model)
    matrices = [w for w in weights.values() if w.ndim > 1]
    channels = matrices[0].shape[1]  # of the layer's input
    for new, w in enumerate(matrices, 2):  # the channel of this layer's sum
        outputs, inputs = w.shape[:2]
        at = np.arange(0, inputs, inputs // channels)  # each channel's first input
        tap = w[:, :, w.shape[2] // 2, w.shape[3] // 2] if w.ndim == 4 else w
        first = 2 if w is matrices[-1] else 0
        kept = np.arange(first, new)
        tap[kept - first, at[kept]] = 1
        if new > 2:
            tap[new - 1 - first, 0] = -1
        if first == 0:
            tap[new, at[:2]] = 1
        channels = outputs
    return weights


def even(model, seed):
    """Weights with which, for images of one colour, every layer's result is one number.

    No ReLU is shut. The gradient of a layer's input is one number for each channel.
    """
    random = np.random.RandomState(seed)
    weights = zeros(model)
    matrices = [w for w in weights.values() if w.ndim > 1]
    for w in matrices:
        outputs, inputs = w.shape[:2]
        if w.ndim == 4:
            middle = w[:, :, w.shape[2] // 2, w.shape[3] // 2]
            middle[:] = random.uniform(0.5, 1.5, (outputs, inputs)) / inputs
        else:
            w[:] = random.uniform(0.5, 1.5, (outputs, 1)) / inputs
    matrices[-1][:] = random.uniform(-1, 1, matrices[-1].shape)
    return weights


def split_relus(model, seed):
    """Weights of a residual network whose ReLUs are open for bright images and shut for others.

    With ``biased``, a channel is open for a whole batch or shut for it, so the next normalisation
    removes what most biases add, and their gradient is 0. Here kernels are positive, and no bias
    outweighs an image's brightness. A kernel's middle outweighs the rest, so that padding does not
    make an image's borders darker.
    """
    random = np.random.RandomState(seed)
    weights = model.initialize(model.shapes, seed)
    for name, w in weights.items():
        layer, kind = name.rsplit(".", 1)
        noise = random.uniform(-0.1, 0.1, w.shape)
        if w.ndim == 4:
            w[:] = np.abs(w)
            if w.shape[-1] > 1:
                middle = noise[:, :, 0, 0]
                w[:, :, w.shape[2] // 2, w.shape[3] // 2] = w.mean() * 100 * (1 + 5 * middle)
        elif w.ndim == 1:
            whole = layer + ".variance" in weights and kind in ("weight", "variance")
            w[:] = noise + whole
    return weights


def pass_through(model):
    """Weights with which every layer passes its input on, as far as its shape allows.

    A convolution copies channel c to channels c, c + inputs, ...; a dense layer picks some of its
    inputs, spread over all of them; the last one sums the hidden units by their number modulo the
    classes. Scores then show the position of each feature.
    """
    weights = zeros(model)
    for name, w in weights.items():
        if w.ndim == 1 and name.endswith((".weight", ".variance")):
            w[:] = 1  # normalisation
    if "attention" in model.traits:  # a residual branch of zeros hands its input on
        initial = model.initialize(model.shapes, 0)
        ends = [name for name in initial if initial[name].ndim > 1 and "blocks." not in name]
        return dict(weights, **{name: LARGER * initial[name] for name in ends})
    matrices = [name for name, shape in model.shapes.items() if len(shape) > 1]
    for name in matrices:
        w = weights[name]
        outputs, inputs = w.shape[:2]
        if w.ndim == 4:
            for out in range(outputs):
                w[out, out % inputs, w.shape[2] // 2, w.shape[3] // 2] = 1
        elif name == matrices[-1]:
            for feature in range(inputs):
                w[feature % outputs, feature] = (1 + feature % 7) / 64.0
        else:
            for out in range(outputs):
                # 1741 is a prime, so the picks wander over all channels and positions.
                w[out, out * 1741 % inputs] = 1
    return weights


def up_to(model, layer, weights):
    """``weights`` up to and including ``layer``, ``pass_through`` after it; None: none of them."""
    mixed = pass_through(model)
    for name, tensors in layers(model).items() if layer is not None else ():
        mixed.update((tensor, weights[tensor]) for tensor in tensors)
        if name == layer:
            break
    return mixed
