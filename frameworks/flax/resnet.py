"""The residual network in Flax NNX, on JAX, with Optax.

Idiom: an ``nnx.Module`` for a block, ``nnx.Dict`` for a stage; ``nnx.Optimizer`` with
    ``wrt=nnx.Param``, which leaves out the running statistics, that are ``nnx.BatchStat``.
Layout: NHWC, which is all that ``nnx.Conv`` takes.
Momentum: ``v = momentum * v + g + decay * w; w = w - lr * v``: Optax adds the decay in a link of
    its chain, before the momentum, with a mask that leaves vectors out.
Batch normalisation: ``momentum`` is the part that is kept, 0.99 by default. The running variance is
    divided by n. The variance is the mean of the squares less the square of the mean, which loses
    digits in float32, unless ``use_fast_variance`` is off, as here.
Surprise: with a stride of 2, padding "SAME" pads an even side only at its end; a number pads both.
"""

import jax
import optax
from flax import nnx

from frameworks.flax import cnn
from frameworks.flax.cnn import evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the CNN, and which running variance is kept."""
    settings = dict(cnn.configure(lane, threads, seed), running_variance="biased")
    del settings["pool"], settings["generator"]  # neither pools nor dropout
    return settings


def convolution(inputs, outputs, size, rngs, stride=1):
    """A convolution without bias, which batch normalisation would remove again."""
    return nnx.Conv(
        inputs, outputs, (size, size), stride, padding=size // 2, use_bias=False, rngs=rngs
    )


def batch_norm(channels, rngs):
    """Batch normalisation that keeps nine tenths of the running statistics."""
    return nnx.BatchNorm(channels, momentum=0.9, use_fast_variance=False, rngs=rngs)


class Shortcut(nnx.Module):
    """A convolution that gives a block's input the shape of its output."""

    def __init__(self, inputs, outputs, stride, rngs):
        self.conv = convolution(inputs, outputs, 1, rngs, stride)
        self.norm = batch_norm(outputs, rngs)

    def __call__(self, x):
        return self.norm(self.conv(x))


class Block(nnx.Module):
    """A bottleneck of three convolutions, and a shortcut."""

    def __init__(self, inputs, width, stride, first, rngs):
        outputs = 4 * width
        self.conv1, self.norm1 = convolution(inputs, width, 1, rngs), batch_norm(width, rngs)
        self.conv2 = convolution(width, width, 3, rngs, stride)
        self.norm2 = batch_norm(width, rngs)
        self.conv3, self.norm3 = convolution(width, outputs, 1, rngs), batch_norm(outputs, rngs)
        self.shortcut = Shortcut(inputs, outputs, stride, rngs) if first else nnx.identity

    def __call__(self, x):
        """Images with four times ``width`` channels, their sides divided by the stride."""
        y = nnx.relu(self.norm1(self.conv1(x)))
        y = nnx.relu(self.norm2(self.conv2(y)))
        return nnx.relu(self.norm3(self.conv3(y)) + self.shortcut(x))


class Network(nnx.Module):
    """The stages, and the scores that they give."""

    def __init__(self, depth, rngs):
        self.start = nnx.Dict(conv=convolution(3, 16, 3, rngs), norm=batch_norm(16, rngs))
        inputs = 16
        for stage, blocks in enumerate(BLOCKS[depth], 1):
            width, layers = 8 * 2**stage, {}
            for block in range(1, blocks + 1):
                stride = 2 if stage > 1 and block == 1 else 1
                layers[f"block{block}"] = Block(inputs, width, stride, block == 1, rngs)
                inputs = 4 * width
            setattr(self, f"stage{stage}", nnx.Dict(layers))
        self.dense = nnx.Linear(inputs, 10, rngs=rngs)

    def __call__(self, x):
        """Scores of a batch."""
        x = nnx.relu(self.start.norm(self.start.conv(x)))  # (N, 32, 32, 16)
        for stage in (self.stage1, self.stage2, self.stage3, self.stage4):
            for block in stage.values():
                x = block(x)
        # (N, 32, 32, 64), (N, 16, 16, 128), (N, 8, 8, 256), (N, 4, 4, 512) after the four stages
        x = x.mean((1, 2))  # (N, 512)
        return self.dense(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(hp.depth, nnx.Rngs(settings["seed"]))


def decaying(params):
    """Which parameters decay: kernels and matrices."""
    return jax.tree.map(lambda w: w.ndim > 1, params)


def loss(network, settings, hp, weights):
    """The model: network and optimiser, with the initial weights."""
    put(network, weights)
    momentum = optax.chain(
        optax.add_decayed_weights(hp.weight_decay, mask=decaying),
        optax.sgd(hp.learning_rate, hp.momentum),
    )
    return network, nnx.Optimizer(network, momentum, wrt=nnx.Param)
