"""The GPT in MXNet, with Gluon.

Idiom: Gluon ``Block``s, run eagerly, because each generated token has another shape; attention and
    the GELU by hand; an ``Optimizer`` around MXNet's operator for AdamW.
Layout: tokens (N, T), activations (N, T, D), heads (N * H, T, D / H), as ``batch_dot`` takes them.
AdamW: ``w = w - lr * (sqrt(c2) / c1 * m / (sqrt(v) + epsilon) + decay * w)``, where c1, c2 = 1 -
    beta1**t, 1 - beta2**t: epsilon is added before v is corrected.
Surprise: MXNet 1 has ``contrib.adamw_update``, but no optimiser that calls it; Adam's ``wd`` is
    added to the gradient. The update is skipped without a word if ``rescale_grad`` is 0.
"""

import math

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

from frameworks.mxnet import mlp
from frameworks.mxnet.cnn import wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4


def configure(lane, threads, seed):
    """As for the MLP, except for the layout; what would compile a graph is not in force."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NT")
    graph = {"hybridize", "static_alloc", "static_shape"} & set(settings)
    return dict(settings, not_in_force=sorted(graph | set(settings["not_in_force"])))


def load(sequences, targets, settings):
    """Tokens (n, T) and the token after each (n, T), as they are."""
    return sequences, targets


class Attention(gluon.Block):
    """Causal self-attention; with a cache, only for the tokens after those that it holds."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Dense(3 * WIDTH, in_units=WIDTH, flatten=False)
        self.out = nn.Dense(WIDTH, in_units=WIDTH, flatten=False)

    def forward(self, x, cache):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        # In ``reshape``, 0 keeps an axis, -3 joins two, and -4 splits one into the next two.
        heads = self.qkv(x).reshape((0, 0, 3, HEADS, -1)).transpose((2, 0, 3, 1, 4))
        # (3, N, H, T, D / H), then (N H, T, D / H) each
        q, k, v = heads.reshape((0, -3, 0, 0)).split(3, axis=0, squeeze_axis=True)
        if cache is not None:
            k, v = (nd.concat(*pair, dim=1) for pair in zip(cache, (k, v)))
        scores = nd.batch_dot(q, k, transpose_b=True) / math.sqrt(WIDTH // HEADS)  # (N H, T, all)
        before = scores.shape[2] - scores.shape[1]
        seen = np.tri(*scores.shape[1:], before)  # no later token
        seen = nd.array(seen, scores.context).expand_dims(0).broadcast_like(scores)
        scores = nd.where(seen, scores, nd.full(scores.shape, -math.inf, scores.context))
        # With a temperature it is MXNet's own; on a CPU, oneDNN's is ten times less exact.
        mixed = nd.batch_dot(nd.softmax(scores, axis=2, temperature=1), v)
        mixed = mixed.reshape((-4, -1, HEADS, 0, 0)).transpose((0, 2, 1, 3))  # (N, T, H, D / H)
        return self.out(mixed.reshape((0, 0, -3))), (k, v)


class MLP(gluon.Block):
    """Two dense layers with a GELU between them, by its approximation with a tanh."""

    def __init__(self):
        super().__init__()
        self.up = nn.Dense(4 * WIDTH, in_units=WIDTH, flatten=False)
        self.down = nn.Dense(WIDTH, in_units=4 * WIDTH, flatten=False)

    def forward(self, x):
        """Activations (N, T, D)."""
        x = self.up(x)  # (N, T, 4 D)
        x = 0.5 * x * (1 + nd.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return self.down(x)


class Unit(gluon.Block):
    """A block: attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(in_channels=WIDTH)  # epsilon 1e-5, inside the root
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(in_channels=WIDTH)
        self.mlp = MLP()

    def forward(self, x, cache):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class GPT(gluon.Block):
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential()
        self.blocks.add(*(Unit() for _ in range(BLOCKS)))
        self.norm = nn.LayerNorm(in_channels=WIDTH)

    def forward(self, tokens, caches=(None,) * BLOCKS, first=0):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        places = nd.arange(first, first + tokens.shape[1], ctx=tokens.context)
        x = nd.broadcast_add(self.tokens(tokens), self.positions(places).expand_dims(0))
        new = []
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache)
            new.append(cache)
        head = self.tokens.weight.data()
        scores = nd.FullyConnected(
            self.norm(x), head, num_hidden=WORDS, no_bias=True, flatten=False
        )
        return scores, new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    network = GPT()
    network.initialize(ctx=mx.Context(settings["device"]))
    return network


class AdamW(mx.optimizer.Optimizer):
    """Adam with a decay that is apart from the gradient, as a ``Trainer`` takes it."""

    def __init__(self, beta1, beta2, epsilon, **options):
        super().__init__(**options)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state(self, index, weight):
        """Both moments, zero."""
        return nd.zeros_like(weight), nd.zeros_like(weight)

    def update(self, index, weight, grad, state):
        """One step of one tensor."""
        self._update_count(index)
        t = self._index_update_count[index]
        nd.contrib.adamw_update(
            weight,
            grad,
            *state,
            rescale_grad=nd.full(1, self.rescale_grad, weight.context),
            lr=math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t),
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            wd=self._get_wd(index),
            eta=self._get_lr(index),  # times all, the decay too
            out=weight,
        )


def parameters(network):
    """{canonical name: parameter}, by the blocks' attributes, as in Gluon's own files."""
    kinds = {"gamma": "weight", "beta": "bias"}
    found = {}
    for path, parameter in network._collect_params_with_prefix().items():
        layer, _, kind = path.rpartition(".")  # ("blocks.0.norm1", "gamma")
        found[layer + "." + kinds.get(kind, kind)] = parameter
    return found


def rate(step, hp):
    """The learning rate of a step, from 0: a warm-up, then half a cosine."""
    if step < hp.warmup:
        return hp.learning_rate * (step + 1) / hp.warmup
    part = min(1, (step - hp.warmup) / (hp.steps - hp.warmup))
    high, low = hp.learning_rate, hp.last_rate
    return low + (high - low) * (1 + math.cos(math.pi * part)) / 2


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and its settings, with the initial weights."""
    for name, parameter in parameters(network).items():
        parameter.set_data(nd.array(weights[name]))
        parameter.wd_mult = float(len(parameter.shape) > 1)  # matrices and embeddings alone
    # MXNet's "logits" are log-probabilities; in Keras and elsewhere they are scores.
    criterion = gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)
    adamw = AdamW(hp.beta1, hp.beta2, hp.epsilon, wd=hp.weight_decay)
    trainer = gluon.Trainer(network.collect_params(), adamw)
    return network, criterion, trainer, hp


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, trainer, hp = model
    device = network.tokens.weight.list_ctx()[0]
    gradients = [parameter.grad() for parameter in network.collect_params().values()]
    for x, y in batches:
        x, y = nd.array(x, device), nd.array(y, device)  # (N, T)
        with autograd.record():
            scores, _ = network(x)  # (N, T, 65)
            step_loss = criterion(nd.log_softmax(scores, temperature=1), y).mean()
        step_loss.backward()
        trainer.allreduce_grads()  # step() does both, but leaves no room between them
        gluon.utils.clip_global_norm(gradients, hp.clip, check_isfinite=False)
        trainer.set_learning_rate(rate(trainer.optimizer.num_update, hp))
        trainer.update(1)  # the loss is a mean already
        yield step_loss.as_np_ndarray()  # float() rejects a legacy NDArray


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    network, half = model[0], x.shape[1] // 2
    device = network.tokens.weight.list_ctx()[0]
    outputs = []
    for start in range(0, len(x), 64):
        part = nd.array(x[start : start + 64], device)
        scores = [network(part)[0]]  # (N, T, 65)
        last, caches = network(part[:, :half])
        for place in range(half, 2 * half):
            token = last[:, -1:].argmax(2)  # greedy
            last, caches = network(token, caches, place)  # (N, 1, 65)
            scores.append(last)
        outputs.append(nd.concat(*scores, dim=1).asnumpy())
    return np.concatenate(outputs)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    given = nd.array(scores[:, : targets.shape[1]])
    criterion = gluon.loss.SoftmaxCrossEntropyLoss()
    return float(criterion(given, nd.array(targets)).mean().asscalar())


def weights(model):
    """Every weight under its canonical name; MXNet's layouts are the canonical ones."""
    return {name: p.data().asnumpy() for name, p in parameters(model[0]).items()}
