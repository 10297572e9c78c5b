"""The residual network in tinygrad.

Idiom: plain classes whose ``__call__`` builds a lazy graph; two optimisers in an
    ``OptimizerGroup``, because only some of the parameters decay.
Layout: NCHW.
Momentum: ``v = momentum * v + g + decay * w; w = w - lr * v``, the learning rate outside the
    velocity.
Batch normalisation: ``momentum=0.1``, tinygrad's default, is the weight of the new batch, where
    others name the part that is kept. The running variance is divided by n - 1.
Surprise: ``Context(TRAINING=1)`` switches batch normalisation, dropout and the optimiser, all at
    once; an optimiser's step without it is an error.
"""

from tinygrad import Context, nn

from frameworks.tinygrad import cnn
from frameworks.tinygrad.cnn import evaluate, load, predict, recorded, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the CNN, and which running variance is kept."""
    return dict(cnn.configure(lane, threads, seed), running_variance="unbiased")


def convolution(inputs, outputs, size, stride=1):
    """A convolution without bias, which batch normalisation would remove again."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Normalised:
    """A convolution and batch normalisation."""

    def __init__(self, inputs, outputs, size, stride=1):
        self.conv, self.norm = convolution(inputs, outputs, size, stride), nn.BatchNorm(outputs)

    def __call__(self, x):
        """Images with other channels, their sides divided by the stride."""
        return self.norm(self.conv(x))


class Block:
    """A bottleneck of three convolutions, and a shortcut."""

    def __init__(self, inputs, width, stride, first):
        outputs = 4 * width
        self.conv1, self.norm1 = convolution(inputs, width, 1), nn.BatchNorm(width)
        self.conv2, self.norm2 = convolution(width, width, 3, stride), nn.BatchNorm(width)
        self.conv3, self.norm3 = convolution(width, outputs, 1), nn.BatchNorm(outputs)
        self.shortcut = Normalised(inputs, outputs, 1, stride) if first else None

    def __call__(self, x):
        """Images with four times ``width`` channels, their sides divided by the stride."""
        y = self.norm1(self.conv1(x)).relu()
        y = self.norm2(self.conv2(y)).relu()
        return (self.norm3(self.conv3(y)) + (self.shortcut(x) if self.shortcut else x)).relu()


class Network:
    """The blocks of four stages, and the scores that they give."""

    def __init__(self, depth):
        self.start, inputs = Normalised(3, 16, 3), 16
        self.stages = []
        for stage, blocks in enumerate(BLOCKS[depth], 1):
            width = 8 * 2**stage
            self.stages.append([])
            for block in range(blocks):
                stride = 2 if stage > 1 and block == 0 else 1
                self.stages[-1].append(Block(inputs, width, stride, first=block == 0))
                inputs = 4 * width
        self.dense = nn.Linear(inputs, 10)

    def __call__(self, x):
        """Scores of a batch of images."""
        x = self.start(x).relu()  # (N, 16, 32, 32)
        for stage in self.stages:  # (N, 64, 32, 32), (N, 128, 16, 16), (N, 256, 8, 8), ...
            x = x.sequential(stage)
        x = x.mean((2, 3))  # (N, 512)
        return self.dense(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(hp.depth)


def named(network):
    """{canonical name: tensor}, without the counts of batches."""
    found = {}
    for name, tensor in nn.state.get_state_dict(network).items():
        name = name.replace("running_mean", "mean").replace("running_var", "variance")
        if name.startswith("stages."):
            _, stage, block, name = name.split(".", 3)
            name = "stage%d.block%d.%s" % (int(stage) + 1, int(block) + 1, name)
        if not name.endswith("num_batches_tracked"):
            found[name] = tensor
    return found


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights put in place."""
    cnn.put(named(network), weights)
    parameters = nn.state.get_parameters(network)
    momentum = {"lr": hp.learning_rate, "momentum": hp.momentum}
    kernels = [w for w in parameters if w.ndim > 1]
    others = [w for w in parameters if w.ndim <= 1]  # what is no parameter, it leaves alone
    optimizer = nn.optim.OptimizerGroup(
        nn.optim.SGD(kernels, weight_decay=hp.weight_decay, **momentum),
        nn.optim.SGD(others, **momentum),
    )

    @Context(TRAINING=1)
    def step(x, y):
        optimizer.zero_grad()
        step_loss = network(x).sparse_categorical_crossentropy(y)  # of scores
        step_loss.backward()  # not for x
        return step_loss.realize(*optimizer.schedule_step())

    return recorded(network, step)


def weights(model):
    """Every weight and the state under its canonical name; tinygrad's layouts are canonical."""
    return {name: tensor.numpy().copy() for name, tensor in named(model[0]).items()}
