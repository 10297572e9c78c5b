"""The GPT in Chainer.

Idiom: ``Chain`` blocks whose ``forward`` is plain Python, run eagerly; attention and the GELU by
    hand. The optimiser owns the moments, a hook clips.
Layout: tokens (N, T), activations (N * T, D), since ``L.LayerNormalization`` takes two axes; heads
    (N, H, T, D / H).
AdamW: ``w = w - eta * decay * w - eta * alpha_t * m / (sqrt(v) + epsilon)``, where ``alpha_t =
    alpha * sqrt(c2) / c1``, c1, c2 = 1 - beta1**t, 1 - beta2**t: epsilon is added before v is
    corrected.
Surprise: decay is multiplied by ``eta``, the schedule's factor, but not by ``alpha``, the rate; so
    decay times alpha is passed. ``L.LayerNormalization`` has an epsilon of 1e-6 by default.
"""

import math

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer.backends import cuda

from frameworks.chainer import mlp
from frameworks.chainer.cnn import wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sequences, targets, settings):
    """Tokens (n, T) and the token after each (n, T), int32 as Chainer's own datasets."""
    return sequences.astype(np.int32), targets.astype(np.int32)


class Attention(chainer.Chain):
    """Causal self-attention; with a cache, only for the tokens after those that it holds."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.qkv = L.Linear(WIDTH, 3 * WIDTH)
            self.out = L.Linear(WIDTH, WIDTH)

    def forward(self, x, n, cache):
        """Activations (N * T, D) of n texts, and the keys and values of all tokens so far."""
        qkv = F.reshape(self.qkv(x), (n, -1, 3, HEADS, WIDTH // HEADS))
        q, k, v = F.separate(F.transpose(qkv, (2, 0, 3, 1, 4)))  # (N, H, T, D / H) each
        if cache is not None:
            k, v = (F.concat(pair, 2) for pair in zip(cache, (k, v)))
        scores = F.matmul(q, k, transb=True) / math.sqrt(WIDTH // HEADS)  # (N, H, T, all)
        before = scores.shape[3] - scores.shape[2]
        seen = self.xp.tri(*scores.shape[2:], before, dtype=bool)  # no later token
        seen = self.xp.broadcast_to(seen, scores.shape)
        scores = F.where(seen, scores, self.xp.full(scores.shape, -math.inf, np.float32))
        mixed = F.matmul(F.softmax(scores, axis=3), v)
        return self.out(F.reshape(F.transpose(mixed, (0, 2, 1, 3)), x.shape)), (k, v)


class MLP(chainer.Chain):
    """Two dense layers with a GELU between them, by its approximation with a tanh."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.up = L.Linear(WIDTH, 4 * WIDTH)
            self.down = L.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        """Activations (N * T, D)."""
        x = self.up(x)  # (N * T, 4 D)
        x = 0.5 * x * (1 + F.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return self.down(x)


class Block(chainer.Chain):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.norm1 = L.LayerNormalization(WIDTH, eps=1e-5)
            self.attention = Attention()
            self.norm2 = L.LayerNormalization(WIDTH, eps=1e-5)
            self.mlp = MLP()

    def forward(self, x, n, cache):
        """Activations (N * T, D) of n texts, and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), n, cache)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class GPT(chainer.Chain):
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.tokens = L.EmbedID(WORDS, WIDTH)
            self.positions = L.EmbedID(CONTEXT, WIDTH)
            self.blocks = chainer.ChainList(*(Block() for _ in range(BLOCKS)))
            self.norm = L.LayerNormalization(WIDTH, eps=1e-5)

    def forward(self, tokens, caches=(None,) * BLOCKS, first=0):
        """Scores (N * T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        n, t = tokens.shape
        places = self.xp.tile(self.xp.arange(first, first + t, dtype=np.int32), n)
        x = self.tokens(tokens.ravel()) + self.positions(places)  # (N * T, D)
        new = []
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, n, cache)
            new.append(cache)
        return F.linear(self.norm(x), self.tokens.W), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return GPT().to_device(settings["chainer_device"])


def parameters(network):
    """{canonical name: parameter}."""
    kinds = {"W": "weight", "b": "bias", "gamma": "weight", "beta": "bias"}
    found = {}
    for path, parameter in network.namedparams():  # ("/blocks/0/norm1/gamma", ...)
        layer, _, kind = path[1:].replace("/", ".").rpartition(".")
        found[layer + "." + kinds[kind]] = parameter
    return found


def rate_factor(step, hp):
    """The share of the highest rate at a step, from 0: a warm-up, then half a cosine."""
    if step < hp.warmup:
        return (step + 1) / hp.warmup
    part = min(1, (step - hp.warmup) / (hp.steps - hp.warmup))
    low = hp.last_rate / hp.learning_rate
    return low + (1 - low) * (1 + math.cos(math.pi * part)) / 2


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and its settings, with the initial weights."""
    for name, parameter in parameters(network).items():
        parameter.array = network.device.send(weights[name].copy())
    criterion = F.softmax_cross_entropy  # softmax and the mean over all places included
    optimizer = chainer.optimizers.Adam(
        alpha=hp.learning_rate, beta1=hp.beta1, beta2=hp.beta2, eps=hp.epsilon
    )
    optimizer.setup(network)
    for parameter in network.params():
        if parameter.ndim > 1:  # matrices and embeddings alone
            decay = hp.learning_rate * hp.weight_decay
            parameter.update_rule.hyperparam.weight_decay_rate = decay
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(hp.clip))
    return network, criterion, optimizer, hp


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer, hp = model
    for x, y in batches:
        x, y = network.device.send(x), network.device.send(y)  # (N, T)
        scores, _ = network(x)  # (N * T, 65)
        step_loss = criterion(scores, y.ravel())
        network.cleargrads()
        step_loss.backward()
        step_loss.unchain_backward()  # frees the step's arrays
        optimizer.hyperparam.eta = rate_factor(optimizer.t, hp)
        optimizer.update()
        yield step_loss.array


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    network, half = model[0], x.shape[1] // 2
    outputs = []
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        for start in range(0, len(x), 64):
            part = network.device.send(x[start : start + 64])
            shape = (len(part), -1, WORDS)
            scores = [network(part)[0].array.reshape(shape)]  # (N, T, 65)
            last, caches = network(part[:, :half])
            for place in range(half, 2 * half):
                token = last.array.reshape(shape)[:, -1:].argmax(2).astype(np.int32)  # greedy
                last, caches = network(token, caches, place)  # (N, 65)
                scores.append(last.array.reshape(shape))
            outputs.append(cuda.to_cpu(network.xp.concatenate(scores, 1)))
    return np.concatenate(outputs)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    given = scores[:, : targets.shape[1]].reshape(-1, WORDS)
    return float(F.softmax_cross_entropy(given, targets.ravel()).array)


def weights(model):
    """Every weight under its canonical name; Chainer's layouts are the canonical ones."""
    return {name: np.array(cuda.to_cpu(p.array)) for name, p in parameters(model[0]).items()}
