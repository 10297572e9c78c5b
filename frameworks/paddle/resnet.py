"""The residual network in PaddlePaddle.

Idiom: an ``nn.Layer`` for a block, the network an ``nn.Sequential`` of stages; an optimiser with
    two groups of parameters, because only one of them decays.
Layout: NCHW.
Momentum: ``v = momentum * v + g + decay * w; w = w - lr * v``, the learning rate outside the
    velocity.
Batch normalisation: ``momentum=0.9``, Paddle's default, is the part that is kept. The running
    variance is divided by n.
Surprise: ``parameters()`` has the running mean and variance, too; only ``stop_gradient`` tells them
    from what is trained.
"""

import paddle
from paddle import nn

from frameworks.paddle import cnn
from frameworks.paddle.cnn import compiled, cross_entropy, evaluate, load, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the CNN, and which running variance is kept."""
    return dict(cnn.configure(lane, threads, seed), running_variance="biased")


def convolution(inputs, outputs, size, stride=1):
    """A convolution without bias, which batch normalisation would remove again."""
    return nn.Conv2D(inputs, outputs, size, stride, padding=size // 2, bias_attr=False)


class Block(nn.Layer):
    """A bottleneck of three convolutions, and a shortcut."""

    def __init__(self, inputs, width, stride, first):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.norm1 = convolution(inputs, width, 1), nn.BatchNorm2D(width)
        self.conv2, self.norm2 = convolution(width, width, 3, stride), nn.BatchNorm2D(width)
        self.conv3, self.norm3 = convolution(width, outputs, 1), nn.BatchNorm2D(outputs)
        self.shortcut = nn.Identity()
        if first:
            conv = convolution(inputs, outputs, 1, stride)
            self.shortcut = nn.Sequential(("conv", conv), ("norm", nn.BatchNorm2D(outputs)))

    def forward(self, x):
        """Images with four times ``width`` channels, their sides divided by the stride."""
        y = nn.functional.relu(self.norm1(self.conv1(x)))
        y = nn.functional.relu(self.norm2(self.conv2(y)))
        return nn.functional.relu(self.norm3(self.conv3(y)) + self.shortcut(x))


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    start = ("conv", convolution(3, 16, 3)), ("norm", nn.BatchNorm2D(16)), ("relu", nn.ReLU())
    network, inputs = [("start", nn.Sequential(*start))], 16  # (N, 16, 32, 32)
    for stage, blocks in enumerate(BLOCKS[hp.depth], 1):
        width, layers = 8 * 2**stage, []
        for block in range(1, blocks + 1):
            stride = 2 if stage > 1 and block == 1 else 1
            layers.append(("block%d" % block, Block(inputs, width, stride, first=block == 1)))
            inputs = 4 * width
        network.append(("stage%d" % stage, nn.Sequential(*layers)))
    # (N, 64, 32, 32), (N, 128, 16, 16), (N, 256, 8, 8), (N, 512, 4, 4) after the four stages
    network.append(("mean", nn.AdaptiveAvgPool2D(1)))  # (N, 512, 1, 1)
    network.append(("flatten", nn.Flatten()))  # (N, 512)
    network.append(("dense", nn.Linear(inputs, 10)))  # (N, 10), no softmax: the loss applies it
    return compiled(nn.Sequential(*network), settings, [None, 3, 32, 32])


def named(network):
    """{canonical name: tensor}, the state too."""
    return {
        name.replace("_mean", "mean").replace("_variance", "variance"): tensor
        for name, tensor in network.state_dict().items()
    }


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, tensor in named(network).items():
        tensor.set_value(weights[name].T if name == "dense.weight" else weights[name])
    trained = [parameter for parameter in network.parameters() if not parameter.stop_gradient]
    decaying = [parameter for parameter in trained if parameter.ndim > 1]
    others = [parameter for parameter in trained if parameter.ndim == 1]
    optimizer = paddle.optimizer.Momentum(
        hp.learning_rate,
        hp.momentum,
        parameters=[{"params": decaying, "weight_decay": hp.weight_decay}, {"params": others}],
    )
    return network, cross_entropy, optimizer


def weights(model):
    """Every weight and the state under its canonical name; only Paddle's dense layer differs."""
    found = {name: tensor.numpy() for name, tensor in named(model[0]).items()}
    return dict(found, **{"dense.weight": found["dense.weight"].T.copy()})
