"""ResNet-50, at a quarter of its width: keras.applications (A) and timm for PyTorch (B)."""

import contextlib

import keras
import numpy as np
import timm.models.resnet
import torch
from keras.src.applications import resnet as of_applications
from timm.layers import SelectAdaptivePool2d

from frameworks.keras import record as of_keras
from frameworks.pytorch import record as of_torch

FILTERS, BLOCKS, CLASSES = (20, 40, 80, 160), (3, 4, 6, 3), 10
LABELS = np.array([0, 3, 1, 4, 9, 2, 7, 5])


def original(seed):
    keras.backend.clear_session()

    def stages(x):
        for n, (filters, blocks) in enumerate(zip(FILTERS, BLOCKS)):
            stride = 1 if n == 0 else 2
            name = "conv%d" % (n + 2)
            x = of_applications.stack_residual_blocks_v1(x, filters, blocks, stride, name=name)
        return x

    options = dict(include_top=True, weights=None, classes=CLASSES, classifier_activation=None)
    network = of_applications.ResNet(
        stages, False, True, input_shape=(64, 64, 3), name="resnet", **options
    )
    random = np.random.RandomState(seed)
    for layer in network.layers:
        drawn = []
        for weight in layer.weights:
            values = random.standard_normal(weight.shape)
            if len(weight.shape) > 1:
                values *= np.sqrt(2 / np.prod(weight.shape[:-1]))
            else:
                values = values * 0.1 + (weight.name in ("gamma", "moving_variance"))
            drawn.append(values)
        layer.set_weights(drawn)
    averaged(network, inputs(seed + 50))
    return network


def averaged(network, x):
    """Running statistics of a batch."""
    norms = [layer for layer in network.layers if hasattr(layer, "moving_mean")]
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    network(x, training=True)
    for norm, momentum in zip(norms, before):
        norm.momentum = momentum


def inputs(seed):
    return np.random.RandomState(seed + 100).standard_normal((8, 64, 64, 3)).astype("f")


def port(network, mistakes):
    of_timm = timm.models.resnet
    made = of_timm.ResNet(of_timm.Bottleneck, BLOCKS, CLASSES, channels=FILTERS)
    places = {"conv1": (made.conv1, made.bn1)}
    for stage in range(4):
        for n, block in enumerate(getattr(made, "layer%d" % (stage + 1))):
            name = "conv%d_block%d_" % (stage + 2, n + 1)
            for part in (1, 2, 3):
                parts = getattr(block, "conv%d" % part), getattr(block, "bn%d" % part)
                places[name + str(part)] = parts
            if block.downsample is not None:
                places[name + "0"] = tuple(block.downsample)
            if stage and not n and "stride in the 3 x 3" not in mistakes:
                block.conv1.stride, block.conv2.stride = (2, 2), (1, 1)
    arrays = {layer.name: layer.get_weights() for layer in network.layers}
    with torch.no_grad():
        for name, (convolution, norm) in places.items():
            kernel, bias = arrays[name + "_conv"]
            gamma, beta, mean, variance = arrays[name + "_bn"]
            if "biases dropped" not in mistakes:
                mean = mean - bias
            kernel = kernel.transpose(3, 2, 0, 1)
            if name == "conv1" and "colours in the other order" in mistakes:
                kernel = kernel[:, ::-1].copy()
            if name == "conv3_block1_2" and "kernel's height and width exchanged" in mistakes:
                kernel = kernel.transpose(0, 1, 3, 2)
            if "kernels turned round" in mistakes:
                kernel = kernel[:, :, ::-1, ::-1].copy()
            convolution.weight.copy_(torch.from_numpy(kernel))
            norm.weight.copy_(torch.from_numpy(gamma))
            norm.bias.copy_(torch.from_numpy(beta))
            norm.running_mean.copy_(torch.from_numpy(mean))
            norm.running_var.copy_(torch.from_numpy(variance))
            if "divided by the variance" in mistakes:
                norm.running_var.square_()
            norm.eps = 1e-3 if "epsilon" in mistakes else 1.001e-5
            norm.momentum = 0.99 if "momentum of the batch norms" in mistakes else 0.01
        made.fc.weight.copy_(torch.from_numpy(arrays["predictions"][0].T))
        made.fc.bias.copy_(torch.from_numpy(arrays["predictions"][1]))
    if "stem padded as 'same'" in mistakes:
        made.conv1.padding = (0, 0)
        made.conv1 = torch.nn.Sequential(torch.nn.ZeroPad2d((2, 3, 2, 3)), made.conv1)
    if "pool padded as 'same'" in mistakes:
        parts = torch.nn.ZeroPad2d((0, 1, 0, 1)), torch.nn.MaxPool2d(3, 2)  # after a ReLU
        made.maxpool = torch.nn.Sequential(*parts)
    if "shortcut averaged" in mistakes:  # as in ResNet-D
        shortcut, norm = made.layer3[0].downsample
        shortcut.stride = (1, 1)
        made.layer3[0].downsample = torch.nn.Sequential(torch.nn.AvgPool2d(2), shortcut, norm)
    if "largest, not the mean" in mistakes:
        made.global_pool = SelectAdaptivePool2d(pool_type="max", flatten=True)
    if "norms frozen" in mistakes:
        for norm in made.modules():
            if isinstance(norm, torch.nn.BatchNorm2d):
                norm.eval().train = lambda mode=True, norm=norm: norm
    if "ReLU before the sum" in mistakes:
        block = made.layer2[0]
        block.bn3, block.act3 = torch.nn.Sequential(block.bn3, torch.nn.ReLU()), torch.nn.Identity()
    return made


def forward(seed, mistakes=(), exact=False):
    network, x = original(seed), inputs(seed)
    channels_first = x.transpose(0, 3, 1, 2).copy()
    if "pictures reshaped" in mistakes:
        channels_first = x.reshape(8, 3, 64, 64)
    b = of_torch.record(port(network, mistakes), channels_first)
    return of_keras.record(network, x), b, of_keras.exact(network, x) if exact else None


@contextlib.contextmanager
def in_float64():
    """Both frameworks make weights of float64."""
    keras.config.set_floatx("float64")
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        keras.config.set_floatx("float32")
        torch.set_default_dtype(torch.float32)


def steps(seed, mistakes=()):
    """In float64: in float32, rounding brings some values near 0 to a ReLU's other side, and one
    alone changes the gradients of all layers before it by a percent.
    """
    with in_float64():
        network, x = original(seed), inputs(seed).astype(np.float64)
        made = port(network, mistakes)
    network.compile(
        optimizer=keras.optimizers.SGD(0.01, momentum=0.9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    optimizer = torch.optim.SGD(
        made.parameters(), lr=0.01, momentum=0.9, nesterov="Nesterov" in mistakes
    )
    a = of_keras.record_step(network, x, LABELS, steps=2)
    entropy = torch.nn.functional.cross_entropy
    if "gradients not cleared" in mistakes:
        optimizer.zero_grad = lambda set_to_none=True: None
    smoothing = 0.1 if "labels smoothed" in mistakes else 0.0
    b = of_torch.record_step(
        made,
        x.transpose(0, 3, 1, 2).copy(),
        lambda scores: entropy(scores, torch.from_numpy(LABELS), label_smoothing=smoothing),
        optimizer,
        steps=2,
        training=True,
    )
    return a, b, None
