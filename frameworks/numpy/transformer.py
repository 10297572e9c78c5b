"""The layers and the loss of the NumPy transformers, on tokens (N, T) and activations (N, T, D)."""

import numpy as np

from frameworks.numpy.layers import (
    Layer,
    every,
    product,
    product_gradient,
    sigmoid,
    to_numpy,
    xp,
)

EPSILON = 1e-5  # of both normalisations, inside the root
ROTARY_BASE = 10000
IGNORED = -100  # the target of padding


class Past:
    """The keys and values of the tokens that were read so far, while a text is generated."""

    def __init__(self):
        self.stop()

    def start(self):
        """Remember from here on, for new texts."""
        self.kept, self.length = {}, 0

    def stop(self):
        """Forget; every pass is a whole text again."""
        self.kept, self.length = None, 0

    def extend(self, layer, k, v):
        """Keys and values (N, heads, T, d) of a layer, those of the past first."""
        if self.kept is None:
            return k, v
        if layer in self.kept:
            k, v = (xp.concatenate(pair, 2) for pair in zip(self.kept[layer], (k, v)))
        self.kept[layer] = k, v
        return k, v


class Embedding(Layer):
    """A row of the weight for each token. Its gradient is added to what a tied head left there."""

    kinds = ("weight",)

    def __init__(self, settings, name, tied=False):
        super().__init__(settings, name)
        self.tied = tied

    def forward(self, tokens, training):
        """Keep the tokens for the backward pass."""
        self.tokens = tokens
        return self.parameters[0][tokens]  # (N, T, D)

    def backward(self, g):
        """Add each place's gradient to its token's row."""
        (weight,) = self.gradients
        if not self.tied:
            weight[:] = 0
        xp.add.at(weight, self.tokens, g)


class Positions(Layer):
    """Add a learned row to each place of a text."""

    kinds = ("weight",)

    def __init__(self, settings, name, past):
        super().__init__(settings, name)
        self.past = past

    def forward(self, x, training):
        """The first place is the one after the past."""
        first = self.past.length
        return x + self.parameters[0][first : first + x.shape[1]]

    def backward(self, g):
        """Sum the gradient over the texts."""
        (weight,) = self.gradients
        weight[:] = 0
        weight[: g.shape[1]] = g.sum(0)
        return g


class LayerNorm(Layer):
    """Give each place's features mean 0 and variance 1; scale and shift them."""

    def forward(self, x, training):
        """Keep the normalised features for the backward pass."""
        weight, bias = self.parameters
        centred = x - x.mean(-1, keepdims=True)
        self.scale = 1 / xp.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        self.normal = centred * self.scale
        return self.normal * weight + bias

    def backward(self, g):
        """Compute the gradients of weight and bias; return that of x, through mean and variance."""
        weight, bias = self.gradients
        weight[:], bias[:] = (g * self.normal).sum((0, 1)), g.sum((0, 1))
        g = g * self.parameters[0]
        along = self.normal * (g * self.normal).mean(-1, keepdims=True)
        return self.scale * (g - g.mean(-1, keepdims=True) - along)


class RMSNorm(Layer):
    """Divide each place's features by their root mean square; scale them."""

    kinds = ("weight",)

    def forward(self, x, training):
        """Keep the normalised features for the backward pass."""
        self.scale = 1 / xp.sqrt((x**2).mean(-1, keepdims=True) + EPSILON)
        self.normal = x * self.scale
        return self.normal * self.parameters[0]

    def backward(self, g):
        """Compute the gradient of the weight; return that of x, through the mean square."""
        self.gradients[0][:] = (g * self.normal).sum((0, 1))
        g = g * self.parameters[0]
        return self.scale * (g - self.normal * (g * self.normal).mean(-1, keepdims=True))


class TiedHead(Layer):
    """Scores of the next token, by the embedding's own weight, which the embedding alone lists."""

    kinds = ()

    def __init__(self, settings, embedding):
        super().__init__(settings)
        self.embedding = embedding

    def forward(self, x, training):
        """Keep x for the backward pass."""
        self.x = x
        return product(x, self.embedding.parameters[0].T)  # (N, T, words)

    def backward(self, g):
        """Leave the weight's gradient with the embedding, which adds its own; return that of x."""
        product_gradient(g, self.x, self.embedding.gradients[0])
        return product(g, self.embedding.parameters[0])


class GELU(Layer):
    """x times the normal distribution function of x, by the approximation with a tanh."""

    slope, cubic = np.sqrt(2 / np.pi), 0.044715

    def forward(self, x, training):
        """Keep x and the tanh for the backward pass."""
        self.x = x
        cube = x * x * x  # quicker than a power
        self.tanh = xp.tanh(self.dtyped(self.slope) * (x + self.dtyped(self.cubic) * cube))
        return x * (1 + self.tanh) / 2

    def backward(self, g):
        """Multiply by the slope."""
        x, tanh = self.x, self.tanh
        inner = self.dtyped(self.slope) * (1 + self.dtyped(3 * self.cubic) * x**2)
        return g * ((1 + tanh) + x * (1 - tanh**2) * inner) / 2

    def dtyped(self, number):
        """A constant in the run's precision."""
        return np.dtype(self.dtype).type(number)


class SwiGLU(Layer):
    """down(silu(gate(x)) * up(x)), without biases (Shazeer, 2020)."""

    kinds = ("gate.weight", "up.weight", "down.weight")

    def forward(self, x, training):
        """Keep the parts for the backward pass."""
        gate, up, down = self.parameters
        self.x, self.gate, self.up = x, product(x, gate.T), product(x, up.T)
        self.open = sigmoid(self.gate)
        self.hidden = self.gate * self.open * self.up
        return product(self.hidden, down.T)

    def backward(self, g):
        """Compute the gradients of the three weights; return that of x."""
        gate, up, down = self.parameters
        hidden = product(g, down)
        by_gate = hidden * self.up * self.open * (1 + self.gate * (1 - self.open))
        by_up = hidden * self.gate * self.open
        pairs = ((by_gate, self.x), (by_up, self.x), (g, self.hidden))
        for gradient, (left, right) in zip(self.gradients, pairs):
            product_gradient(left, right, gradient)
        return product(by_gate, gate) + product(by_up, up)


class Attention(Layer):
    """Causal attention: each place takes a weighted mean of the values at and before it.

    With ``rotary`` positions, queries and keys are rotated by their places.
    """

    def __init__(self, settings, name, heads, past, key_heads=None, rotary=False):
        super().__init__(settings, name)
        self.heads, self.key_heads, self.past = heads, key_heads or heads, past
        self.rotary = rotary

    def split(self, x, heads):
        """(N, T, heads d) as (N, heads, T, d)."""
        n, t, width = x.shape
        return x.reshape(n, t, heads, width // heads).transpose(0, 2, 1, 3)

    def join(self, x):
        """(N, heads, T, d) as (N, T, heads d)."""
        n, heads, t, width = x.shape
        return x.transpose(0, 2, 1, 3).reshape(n, t, heads * width)

    def attend(self, q, k, v):
        """Mix values by queries and keys, (N, T, heads d) each; (N, T, heads d)."""
        q, k, v = self.split(q, self.heads), *(self.split(x, self.key_heads) for x in (k, v))
        if self.rotary:
            q, k = (rotate(x, *self.angles(x)) for x in (q, k))
        first = self.past.length
        k, v = self.past.extend(self, k, v)
        group = self.heads // self.key_heads  # queries that share a key
        self.q, self.k, self.v = q, k.repeat(group, 1), v.repeat(group, 1)
        scale = np.dtype(self.dtype).type(1 / np.sqrt(q.shape[-1]))
        scores = xp.matmul(self.q, self.k.swapaxes(2, 3)) * scale  # (N, heads, T, past + T)
        later = xp.arange(k.shape[2]) > first + xp.arange(q.shape[2])[:, None]
        scores[..., later] = -np.inf
        scores = xp.exp(scores - scores.max(-1, keepdims=True))
        self.shares = scores / scores.sum(-1, keepdims=True)
        return self.join(xp.matmul(self.shares, self.v))

    def attend_back(self, g):
        """Gradients of queries, keys and values, (N, T, heads d) each."""
        g = self.split(g, self.heads)
        scale = np.dtype(self.dtype).type(1 / np.sqrt(g.shape[-1]))
        shares = xp.matmul(g, self.v.swapaxes(2, 3))
        shares = self.shares * (shares - (self.shares * shares).sum(-1, keepdims=True)) * scale
        dq, dk = xp.matmul(shares, self.k), xp.matmul(shares.swapaxes(2, 3), self.q)
        dv = xp.matmul(self.shares.swapaxes(2, 3), g)
        n, heads, t, width = dk.shape
        by_group = (n, self.key_heads, heads // self.key_heads, t, width)
        dk, dv = (x.reshape(by_group).sum(2) for x in (dk, dv))
        if self.rotary:
            cosines, sines = self.angles(dq)
            dq, dk = (rotate(x, cosines, -sines) for x in (dq, dk))
        return [self.join(x) for x in (dq, dk, dv)]

    def angles(self, x):
        """Cosines and sines (T, d / 2) of the rotation at each place of x (N, heads, T, d)."""
        width, first = x.shape[-1], self.past.length
        frequencies = ROTARY_BASE ** -(np.arange(0, width, 2, dtype=self.dtype) / width)
        places = np.arange(first, first + x.shape[2], dtype=self.dtype)
        angles = np.multiply.outer(places, frequencies.astype(self.dtype))
        return xp.asarray(np.cos(angles)), xp.asarray(np.sin(angles))


def rotate(x, cosines, sines):
    """Rotate pairs of features (N, heads, T, d); feature i is paired with feature i + d / 2."""
    left, right = xp.split(x, 2, -1)
    return xp.concatenate([left * cosines - right * sines, right * cosines + left * sines], -1)


class FusedAttention(Attention):
    """Attention whose queries, keys and values are thirds of one product; with biases."""

    kinds = ("qkv.weight", "qkv.bias", "out.weight", "out.bias")

    def forward(self, x, training):
        """Keep the input and the mixed values for the backward pass."""
        weight, bias, out_weight, out_bias = self.parameters
        self.x = x
        self.mixed = self.attend(*xp.split(product(x, weight.T) + bias, 3, -1))
        return product(self.mixed, out_weight.T) + out_bias

    def backward(self, g):
        """Compute the gradients of weights and biases; return that of x."""
        weight, _, out_weight, _ = self.parameters
        mixed = self.attend_back(product(g, out_weight))
        qkv = xp.concatenate(mixed, -1)
        for (weight_gradient, bias_gradient), left, right in (
            (self.gradients[:2], qkv, self.x),
            (self.gradients[2:], g, self.mixed),
        ):
            product_gradient(left, right, weight_gradient)
            bias_gradient[:] = left.sum((0, 1))
        return product(qkv, weight)


class GroupedAttention(Attention):
    """Attention with a product each for queries, keys and values; without biases."""

    kinds = ("q.weight", "k.weight", "v.weight", "out.weight")

    def forward(self, x, training):
        """Keep the input and the mixed values for the backward pass."""
        *weights, out = self.parameters
        self.x = x
        self.mixed = self.attend(*(product(x, weight.T) for weight in weights))
        return product(self.mixed, out.T)

    def backward(self, g):
        """Compute the gradients of the weights; return that of x."""
        *weights, out = self.parameters
        parts = self.attend_back(product(g, out))
        pairs = [(part, self.x) for part in parts] + [(g, self.mixed)]
        for gradient, (left, right) in zip(self.gradients, pairs):
            product_gradient(left, right, gradient)
        return sum(product(part, weight) for part, weight in zip(parts, weights))


def cross_entropy(scores, targets):
    """Softmax cross-entropy, mean over all targets that count, and its gradient (N, T, words)."""
    logs = scores - scores.max(-1, keepdims=True)  # the largest is 0, so exp cannot overflow
    logs -= xp.log(xp.exp(logs).sum(-1, keepdims=True))
    counted = targets != IGNORED
    number = int(counted.sum())
    places = xp.where(counted, targets, 0)[..., None]  # (N, T, 1)
    losses = xp.take_along_axis(logs, places, -1)[..., 0] * counted
    g = xp.exp(logs)
    xp.put_along_axis(g, places, xp.take_along_axis(g, places, -1) - 1, -1)
    g *= counted[..., None]
    g /= number
    return -losses.sum() / number, g


def scores_of(network, tokens):
    """Scores (N, T, words) of the token after each place."""
    x = xp.asarray(tokens)
    for layer in network:
        x = layer.forward(x, training=False)
    return x


def generate(network, tokens, count):
    """Scores (N, count, words) of tokens that are added greedily to ``tokens``, one at a time.

    The past keeps keys and values, so that each pass reads one token.
    """
    past = next(layer.past for layer in every(network) if hasattr(layer, "past"))
    past.start()
    try:
        last, generated = scores_of(network, tokens)[:, -1:], []
        past.length = tokens.shape[1]
        for _ in range(count):
            last = scores_of(network, last.argmax(-1))  # (N, 1, words)
            past.length += 1
            generated.append(to_numpy(last))
    finally:
        past.stop()
    return np.concatenate(generated, 1)
