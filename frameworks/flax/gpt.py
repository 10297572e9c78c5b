"""The GPT in Flax NNX, on JAX, with Optax.

Idiom: ``nnx.Module`` blocks in an ``nnx.List``, ``nnx.dot_product_attention``; Optax chains
    clipping, AdamW and the schedule. Generation is one compiled ``lax.scan``.
Layout: tokens (N, T), activations (N, T, D), heads (N, T, H, D / H); kernels (in, out).
Cache: arrays have fixed shapes under ``nnx.jit``, so it has a place for each token to come, too;
    ``lax.dynamic_update_slice`` fills them, and a mask hides those that are still empty.
AdamW: ``w = w - lr * (m / c1 / (sqrt(v / c2) + epsilon) + decay * w)``, Optax's; c1, c2 = 1 -
    beta1**t, 1 - beta2**t, in float32.
Surprise: ``nnx.LayerNorm`` has an epsilon of 1e-6 by default. ``warmup_cosine_decay_schedule``
    reaches the highest rate a step later than here, where two schedules are joined.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import lax

from frameworks.flax import mlp
from frameworks.flax.cnn import wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sequences, targets, settings):
    """Tokens (n, T) int64 and the token after each (n, T), as they are."""
    return sequences, targets


def attend(q, k, v, cache, first):
    """Causal attention of T tokens or, with a cache, of one token to all so far; and the cache."""
    if cache is None:
        return nnx.dot_product_attention(q, k, v, is_causal=True), (k, v)
    k, v = (lax.dynamic_update_slice(old, x, (0, first, 0, 0)) for old, x in zip(cache, (k, v)))
    seen = jnp.arange(k.shape[1]) <= first  # True: is seen
    return nnx.dot_product_attention(q, k, v, mask=seen[None, None, None]), (k, v)


class Attention(nnx.Module):
    """Causal self-attention; with a cache, only for the token after those that it holds."""

    def __init__(self, rngs):
        self.qkv = nnx.Linear(WIDTH, 3 * WIDTH, rngs=rngs)
        self.out = nnx.Linear(WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x, cache, first):
        """Activations (N, T, D) of the tokens from place ``first`` on, and the cache."""
        n, t, _ = x.shape
        q, k, v = jnp.unstack(self.qkv(x).reshape(n, t, 3, HEADS, -1), axis=2)  # (N, T, H, D / H)
        mixed, cache = attend(q, k, v, cache, first)
        return self.out(mixed.reshape(n, t, WIDTH)), cache


class MLP(nnx.Module):
    """Two dense layers with a GELU between them, which Flax approximates with a tanh by default."""

    def __init__(self, rngs):
        self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        """Activations (N, T, D)."""
        return self.down(nnx.gelu(self.up(x)))  # (N, T, 4 D) between


class Block(nnx.Module):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self, rngs):
        self.norm1 = nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs)  # inside the root
        self.attention = Attention(rngs)
        self.norm2 = nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs)
        self.mlp = MLP(rngs)

    def __call__(self, x, cache, first):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache, first)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class GPT(nnx.Module):
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self, rngs):
        self.tokens = nnx.Embed(WORDS, WIDTH, rngs=rngs)
        self.positions = nnx.Embed(CONTEXT, WIDTH, rngs=rngs)
        self.blocks = nnx.List(Block(rngs) for _ in range(BLOCKS))
        self.norm = nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs)

    def __call__(self, tokens, caches=(None,) * BLOCKS, first=0):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        places = first + jnp.arange(tokens.shape[1])
        x, new = self.tokens(tokens) + self.positions(places), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache, first)
            new.append(cache)
        return self.tokens.attend(self.norm(x)), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return GPT(nnx.Rngs(settings["seed"]))


def name_of(path):
    """The canonical name of a parameter's path, such as ("blocks", 0, "norm1", "scale")."""
    *layer, kind = map(str, path)
    return ".".join(layer) + (".bias" if kind == "bias" else ".weight")


def put(network, weights, shared_name=str):
    """Copy the canonical weights into the network; kernels are transposed, embeddings are not."""
    state = nnx.state(network, nnx.Param)
    for path, variable in nnx.to_flat_state(state):
        w = weights[shared_name(name_of(path))]
        variable.set_value(jnp.array(w.T if path[-1] == "kernel" else w))
    nnx.update(network, state)


def cross_entropy(scores, targets):
    """The mean over all places."""
    return optax.softmax_cross_entropy_with_integer_labels(scores, targets).mean()


def rate_of(hp):
    """The schedule: a warm-up, whose step t has the rate of t + 1; then half a cosine."""
    first, low = hp.learning_rate / hp.warmup, hp.last_rate / hp.learning_rate
    warmup = optax.linear_schedule(first, hp.learning_rate + first, hp.warmup)
    cosine = optax.cosine_decay_schedule(hp.learning_rate, hp.steps - hp.warmup, low)
    return optax.join_schedules([warmup, cosine], [hp.warmup])


def optimizer_of(network, hp):
    """Clipping, then AdamW, which decays matrices and embeddings alone."""
    adamw = optax.adamw(
        rate_of(hp),
        hp.beta1,
        hp.beta2,
        hp.epsilon,
        weight_decay=hp.weight_decay,  # times the rate
        mask=lambda params: jax.tree.map(lambda w: w.ndim > 1, params),
    )
    chain = optax.chain(optax.clip_by_global_norm(hp.clip), adamw)
    return nnx.Optimizer(network, chain, wrt=nnx.Param)


def loss(network, settings, hp, weights):
    """The model: network, optimiser and loss, with the initial weights."""
    put(network, weights)
    return network, optimizer_of(network, hp), cross_entropy


@nnx.jit(donate_argnames=("network", "optimizer"), static_argnames="criterion")
def step(network, optimizer, criterion, x, y):
    """One step of training: changes the network and the optimiser, and returns the loss."""

    def mean_loss(network):
        scores, _ = network(x)  # (N, T, 65)
        return criterion(scores, y)

    step_loss, gradients = nnx.value_and_grad(mean_loss)(network)
    optimizer.update(network, gradients)
    return step_loss


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, optimizer, criterion = model
    for x, y in batches:  # (N, T) each
        yield step(network, optimizer, criterion, x, y)


@nnx.jit
def generate(network, tokens):
    """Scores (N, T + T // 2, 65) of each token; then of those that continue the first half."""
    half = tokens.shape[1] // 2
    scores, _ = network(tokens)  # (N, T, 65)
    last, caches = network(tokens[:, :half])
    room = [(0, 0), (0, half), (0, 0), (0, 0)]  # for the keys and values of the tokens to come
    caches = jax.tree.map(lambda x: jnp.pad(x, room), caches)  # (N, T, H, D / H)

    def go_on(before, place):
        token, caches = before
        scores, caches = network(token, caches, place)  # (N, 1, 65)
        return (scores.argmax(-1), caches), scores[:, 0]  # greedy

    before, places = (last[:, -1:].argmax(-1), caches), half + jnp.arange(half)
    _, further = lax.scan(go_on, before, places)  # (T // 2, N, 65)
    return jnp.concatenate([scores, further.swapaxes(0, 1)], 1)


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    parts = [x[first : first + 64] for first in range(0, len(x), 64)]
    return np.concatenate([generate(model[0], part) for part in parts])


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    return float(cross_entropy(scores[:, : targets.shape[1]], targets))


def weights(model):
    """Every weight under its canonical name; Flax's kernels are (in, out)."""
    state = nnx.to_flat_state(nnx.state(model[0], nnx.Param))
    arrays = [(path, np.array(variable[...])) for path, variable in state]
    return {name_of(path): (w.T if path[-1] == "kernel" else w).copy() for path, w in arrays}
