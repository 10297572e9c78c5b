"""The GPT in PyTensor.

Idiom: all weights are one vector, theta, and ``pytensor.scan`` goes over the blocks, so that one
    update and one block are compiled. Still, that takes minutes for the first time. All layers are
    written out.
Layout: tokens (N, T), activations (N, T, D), heads (N, H, T, D / H).
AdamW: clip; ``m``, ``v`` as Adam; ``w = w - lr * (m / c1 / (sqrt(v / c2) + epsilon) + decay *
    w)``, where c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: ``softmax`` is that of all scores at once, unless it is given an axis.
"""

import math

import numpy as np
import pytensor
from pytensor import tensor as pt
from pytensor.compile.mode import Mode

from frameworks.pytensor import mlp
from frameworks.pytensor.cnn import cross_entropy, dense, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4
BLOCK = {  # a block's tensors, in the order of theta
    "norm1.weight": (WIDTH,),
    "norm1.bias": (WIDTH,),
    "attention.qkv.weight": (3 * WIDTH, WIDTH),
    "attention.qkv.bias": (3 * WIDTH,),
    "attention.out.weight": (WIDTH, WIDTH),
    "attention.out.bias": (WIDTH,),
    "norm2.weight": (WIDTH,),
    "norm2.bias": (WIDTH,),
    "mlp.up.weight": (4 * WIDTH, WIDTH),
    "mlp.up.bias": (4 * WIDTH,),
    "mlp.down.weight": (WIDTH, 4 * WIDTH),
    "mlp.down.bias": (WIDTH,),
}
GPT = {
    "tokens.weight": (WORDS, WIDTH),
    "positions.weight": (CONTEXT, WIDTH),
    "blocks": (BLOCKS, sum(math.prod(shape) for shape in BLOCK.values())),
    "norm.weight": (WIDTH,),
    "norm.bias": (WIDTH,),
}


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sequences, targets, settings):
    """Tokens (n, T) and the token after each (n, T), as they are."""
    return sequences, targets


def parts(vector, shapes):
    """{name: part of a vector}, which is PyTensor's or NumPy's."""
    found, first = {}, 0
    for name, shape in shapes.items():
        last = first + math.prod(shape)
        found[name] = vector[first:last].reshape(shape)
        first = last
    return found


def canonical(theta):
    """{canonical name: view of a NumPy vector}."""
    found = parts(theta, GPT)
    for number, row in enumerate(found.pop("blocks")):
        found.update(("blocks.%d.%s" % (number, name), w) for name, w in parts(row, BLOCK).items())
    return found


def norm(x, w, layer):
    """Features of mean 0 and variance 1, scaled and shifted."""
    x = x - x.mean(-1, keepdims=True)
    x = x / pt.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
    return x * w[layer + ".weight"] + w[layer + ".bias"]


def attention(x, w, past):
    """Causal self-attention of the tokens after those in ``past``; all keys and values."""
    n, t, _ = x.shape
    qkv = dense(x, w, "attention.qkv").reshape((n, t, 3, HEADS, WIDTH // HEADS))
    qkv = qkv.transpose(2, 0, 3, 1, 4)  # (3, N, H, T, D / H)
    kv = pt.concatenate([*past, qkv[1:]], 3)
    q, k, v = qkv[0], kv[0], kv[1]
    scores = q @ k.swapaxes(2, 3) / math.sqrt(WIDTH // HEADS)  # (N, H, T, all)
    places = pt.arange(k.shape[2])
    seen = places <= places[-t:, None]  # no later token
    shares = pt.special.softmax(pt.where(seen, scores, -math.inf), axis=-1)
    mixed = (shares @ v).transpose(0, 2, 1, 3).reshape(x.shape)  # (N, T, D)
    return dense(mixed, w, "attention.out"), kv


def gelu(x):
    """The approximation with a tanh."""
    return 0.5 * x * (1 + pt.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def block(row, *others):
    """Activations (N, T, D) after a block whose weights are ``row``, and its keys and values."""
    *past, x = others
    w = parts(row, BLOCK)
    mixed, kv = attention(norm(x, w, "norm1"), w, past)
    x = x + mixed
    up = gelu(dense(norm(x, w, "norm2"), w, "mlp.up"))  # (N, T, 4 D)
    return x + dense(up, w, "mlp.down"), kv


def gpt(tokens, theta, past=()):
    """Scores (N, T, 65) of the tokens after those in ``past``, and the blocks' keys and values."""
    w = parts(theta, GPT)
    first = past[0].shape[4] if past else 0
    x = w["tokens.weight"][tokens]  # (N, T, D)
    x = x + w["positions.weight"][first : first + tokens.shape[1]]
    x, kv = pytensor.scan(block, [w["blocks"], *past], [x, None], return_updates=False)
    return norm(x[-1], w, "norm") @ w["tokens.weight"].T, kv  # kv (4, 2, N, H, all, D / H)


def symbol(settings, hp):
    """The network: scores of the next token at each place.

    Symbolic tokens, their scores, and the shared variable theta.
    """
    size = sum(math.prod(shape) for shape in GPT.values())
    tokens, theta = pt.lmatrix("tokens"), pytensor.shared(np.zeros(size, "float32"), "theta")
    scores, _ = gpt(tokens, theta)
    return tokens, scores, theta


def rate(step, hp):
    """The learning rate of a step, from 0: a warm-up, then half a cosine."""
    part = pt.minimum(1, (step - hp.warmup) / (hp.steps - hp.warmup))
    high, low = hp.learning_rate, hp.last_rate
    cosine = low + (high - low) * (1 + pt.cos(math.pi * part)) / 2
    return pt.switch(step < hp.warmup, high * (step + 1) / hp.warmup, cosine)


def adamw(theta, g, hp):
    """The updates of theta by its gradient."""
    g = pt.minimum(1, hp.clip / pt.sqrt((g**2).sum())) * g
    steps = pytensor.shared(np.float64(0))  # float32 keeps five digits of 1 - 0.999
    correction1, correction2 = (
        pt.cast(1 - pt.power(np.float64(beta), steps + 1), "float32")
        for beta in (hp.beta1, hp.beta2)
    )
    decay, m, v = (np.zeros_like(theta.get_value()) for _ in range(3))
    for w in canonical(decay).values():
        w[:] = hp.weight_decay if w.ndim > 1 else 0  # matrices and embeddings alone
    m, v = pytensor.shared(m), pytensor.shared(v)
    new_m = hp.beta1 * m + (1 - hp.beta1) * g
    new_v = hp.beta2 * v + (1 - hp.beta2) * g**2
    change = new_m / correction1 / (pt.sqrt(new_v / correction2) + hp.epsilon) + decay * theta
    new_theta = theta - pt.cast(rate(steps, hp), "float32") * change
    return {steps: steps + 1, m: new_m, v: new_v, theta: new_theta}


def loss(network, settings, hp, weights):
    """The model: functions that train and that read tokens, and theta with the initial weights."""
    tokens, scores, theta = network
    start = theta.get_value()
    for name, w in canonical(start).items():
        w[:] = weights[name]
    theta.set_value(start)
    y = pt.lmatrix("y")
    cost = cross_entropy(scores.reshape((-1, WORDS)), y.flatten())
    updates = adamw(theta, pt.grad(cost, theta), hp)
    mode = Mode(linker=settings["linker"], optimizer=settings["optimizer"])
    train_step = pytensor.function([tokens, y], cost, updates=updates, mode=mode)
    shape = (BLOCKS, 2, None, HEADS, None, WIDTH // HEADS)
    past = pt.tensor("past", shape=shape, dtype="float32")
    read = pytensor.function([tokens, past], gpt(tokens, theta, [past]), mode=mode)
    return train_step, read, {"theta": theta}


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    read, half = model[1], x.shape[1] // 2
    outputs = []
    for start in range(0, len(x), 64):
        part = x[start : start + 64]
        nothing = np.zeros((BLOCKS, 2, len(part), HEADS, 0, WIDTH // HEADS), "float32")
        scores = [read(part, nothing)[0]]  # (N, T, 65)
        last, past = read(part[:, :half], nothing)
        for _ in range(half):
            last, past = read(last[:, -1:].argmax(2), past)  # greedy; (N, 1, 65)
            scores.append(last)
        outputs.append(np.concatenate(scores, 1))
    return np.concatenate(outputs)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    given = np.float64(scores[:, : targets.shape[1]])
    right = np.take_along_axis(given, targets[:, :, None], 2)
    return float((np.logaddexp.reduce(given, 2, keepdims=True) - right).mean())


def weights(model):
    """Every weight under its canonical name; PyTensor's layouts are the canonical ones."""
    return canonical(model[2]["theta"].get_value())
