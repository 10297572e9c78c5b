"""The GPT in PaddlePaddle.

Idiom: ``nn.Layer`` blocks, ``scaled_dot_product_attention``; the optimiser owns clipping, decay and
    the schedule. The best lane compiles the pass over whole texts with ``paddle.jit.to_static``.
Layout: tokens (N, T), activations (N, T, D), heads (N, T, H, D / H); dense weights (in, out).
AdamW: ``w = w - lr * decay * w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t,
    1 - beta2**t.
Surprise: ``apply_decay_param_fun`` gets a tensor's own name, such as "linear_0.w_0", not that in
    ``named_parameters()``. A size that ``reshape`` infers is -1 while a program is compiled; as the
    heads' width, it gives attention a scale of (-1)**-0.5, a complex number.
"""

import math

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from frameworks.paddle import mlp
from frameworks.paddle.cnn import wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4
EMBEDDINGS = ("tokens.weight", "positions.weight")


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sequences, targets, settings):
    """Tokens (n, T) int64 and the token after each (n, T), as they are."""
    return sequences, targets


class Attention(nn.Layer):
    """Causal self-attention; with a cache, only for the token after those that it holds."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, cache=None):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        qkv = self.qkv(x).reshape([0, 0, 3, HEADS, WIDTH // HEADS])  # 0 keeps an axis
        q, k, v = qkv.unbind(2)  # (N, T, H, D / H) each
        if cache is not None:
            k, v = paddle.concat([cache[0], k], 1), paddle.concat([cache[1], v], 1)
        # A single new token may look at all; `is_causal` would align it with the first key.
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return self.out(mixed.flatten(2)), (k, v)


class MLP(nn.Layer):
    """Two dense layers with a GELU between them, by its approximation with a tanh."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        """Activations (N, T, D)."""
        return self.down(F.gelu(self.up(x), approximate=True))  # (N, T, 4 D) between


class Block(nn.Layer):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)  # epsilon 1e-5, inside the root
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP()

    def forward(self, x, cache=None):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class GPT(nn.Layer):
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.LayerList([Block() for _ in range(BLOCKS)])
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        """Scores (N, T, 65) of the token after each of whole texts."""
        return self.go_on(tokens, [None] * BLOCKS, 0)[0]

    def go_on(self, tokens, caches, first):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        places = paddle.arange(first, first + tokens.shape[1])
        x, new = self.tokens(tokens) + self.positions(places), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache)
            new.append(cache)
        return paddle.matmul(self.norm(x), self.tokens.weight, transpose_y=True), new  # tied


def compiled(network, settings):
    """The network, in the best lane with its passes over whole texts compiled."""
    if not settings["to_static"]:
        return network
    spec = paddle.static.InputSpec([None, CONTEXT], "int64")
    return paddle.jit.to_static(network, input_spec=[spec], full_graph=True)


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return compiled(GPT(), settings)


def canonical(name, w):
    """The matrix that is (in, out) here and (out, in) there, or the other way round."""
    return w if name in EMBEDDINGS else w.T


def put(network, weights):
    """Copy the canonical weights into the parameters with the same names."""
    network.set_state_dict({name: canonical(name, w) for name, w in weights.items()})


def losses(scores, targets):
    """The cross-entropy of each place (N * T,), written out to be right for any scores."""
    shifted = scores - scores.max(-1, keepdim=True).detach()
    # As in the CNN: Paddle's own softmax takes no score for more than 64 below the highest.
    logarithm = paddle.log((paddle.expm1(shifted) + 1).sum(-1, keepdim=True))
    # The mean of `nll_loss` itself adds up one loss after the other, which rounds too often.
    return F.nll_loss((shifted - logarithm).flatten(0, 1), targets.flatten(), reduction="none")


def cross_entropy(scores, targets):
    """The mean over all places."""
    return losses(scores, targets).mean()


def optimizer_of(network, hp):
    """AdamW, which decays matrices and embeddings alone, and the schedule of its rate."""

    def factor(step):
        if step < hp.warmup:
            return (step + 1) / hp.warmup
        part = min(1, (step - hp.warmup) / (hp.steps - hp.warmup))
        low = hp.last_rate / hp.learning_rate
        return low + (1 - low) * (1 + math.cos(math.pi * part)) / 2

    schedule = paddle.optimizer.lr.LambdaDecay(hp.learning_rate, factor)
    matrices = {w.name for w in network.parameters() if w.ndim > 1}
    optimizer = paddle.optimizer.AdamW(
        schedule,
        beta1=hp.beta1,
        beta2=hp.beta2,
        epsilon=hp.epsilon,
        parameters=network.parameters(),
        weight_decay=hp.weight_decay,  # times the rate
        apply_decay_param_fun=lambda name: name in matrices,
        grad_clip=nn.ClipGradByGlobalNorm(hp.clip),
    )
    return optimizer, schedule


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and schedule, with the initial weights."""
    put(network, weights)
    optimizer, schedule = optimizer_of(network, hp)
    return network, cross_entropy, optimizer, schedule


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer, schedule = model
    network.train()
    for x, y in batches:
        x = paddle.to_tensor(x)  # (N, T)
        y = paddle.to_tensor(y)
        step_loss = criterion(network(x), y)  # of scores (N, T, 65)
        step_loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()  # the next step's rate
        yield step_loss.detach()


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    network, half = model[0], x.shape[1] // 2
    network.eval()
    outputs = []
    with paddle.no_grad():
        for first in range(0, len(x), 64):
            part = paddle.to_tensor(x[first : first + 64])
            scores = [network(part)]  # (N, T, 65)
            last, caches = network.go_on(part[:, :half], [None] * BLOCKS, 0)
            for place in range(half, 2 * half):
                token = last[:, -1:].argmax(-1)  # greedy
                last, caches = network.go_on(token, caches, place)  # (N, 1, 65)
                scores.append(last)
            outputs.append(paddle.concat(scores, 1).numpy())
    return np.concatenate(outputs)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    given = paddle.to_tensor(scores)[:, : targets.shape[1]]
    return cross_entropy(given, paddle.to_tensor(targets)).item()


def weights(model):
    """Every weight under its canonical name; dense layers are (in, out) in Paddle."""
    found = {name: tensor.numpy() for name, tensor in model[0].state_dict().items()}
    return {name: canonical(name, w).copy() for name, w in found.items()}
