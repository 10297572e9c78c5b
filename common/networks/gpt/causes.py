"""Causes for the GPT, and those that it shares with the Llama, as changes to the NumPy module."""

import numpy as np

from common.challenge.causes import (
    Cause,
    in_other_orders,
    interleaved,
    layers,
    only,
    transformer,
    under,
    with_network,
    with_weights,
)
from common.challenge.networks import Pointwise, each, of_kind
from common.compare.functions import bfloat16, erf, tf32
from common.networks.gpt import CONTEXT, SHAPES
from common.system.modules import replaced

PARTS = ("queries", "keys", "values")
NORMS, QKV = "layer normalisation", "queries, keys, values"  # rows of the page


# Attention.


class Attention:
    """Mixed into an attention layer: the mask and the softmax can be changed."""

    def hidden(self, query, key, first):
        """Whether a key is hidden from a query; the first query's place is ``first``."""
        return key > first + query

    def shared(self, shares):
        """The shares of the values."""
        return shares

    def attend(self, q, k, v):
        """As in the layer itself, but a place from which all is hidden sees all alike."""
        q, k, v = self.split(q, self.heads), *(self.split(x, self.key_heads) for x in (k, v))
        if self.rotary:
            q, k = (transformer.rotate(x, *self.angles(x)) for x in (q, k))
        first = self.past.length
        k, v = self.past.extend(self, k, v)
        group = self.heads // self.key_heads
        self.q, self.k, self.v = q, k.repeat(group, 1), v.repeat(group, 1)
        scores = np.matmul(self.q, self.k.swapaxes(2, 3)) / np.sqrt(q.shape[-1]).astype(self.dtype)
        query, key = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
        hidden = self.hidden(query, key, first)
        self.sees = ~hidden.all(1, keepdims=True)
        scores[..., hidden] = -1e9
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        self.shares = self.shared(scores / scores.sum(-1, keepdims=True))
        return self.join(np.matmul(self.shares, self.v))

    def attend_back(self, g):
        """As in the layer itself; a place from which all is hidden has constant scores."""
        dq, dk, dv = super().attend_back(g)
        if not self.sees.all():
            shares, self.shares = self.shares, self.shares * self.sees
            dq, dk, _ = super().attend_back(g)
            self.shares = shares
        return [dq, dk, dv]


class Unmasked(Attention):
    """Every place sees the whole text."""

    def hidden(self, query, key, first):
        return np.zeros((len(query), len(key)), bool)


class Strict(Attention):
    """A place does not see itself."""

    def hidden(self, query, key, first):
        return key >= first + query


class Inverted(Attention):
    """The mask has the wrong polarity."""

    def hidden(self, query, key, first):
        return key <= first + query


def windowed(size):
    """A mixin for an attention layer in which a place sees the last ``size`` places alone."""

    class Windowed(Attention):
        def hidden(self, query, key, first):
            return (key > first + query) | (key <= first + query - size)

    return Windowed


class Unshifted(Attention):
    """The mask is aligned with the first key, however long the past is."""

    def hidden(self, query, key, first):
        return key > query


class Rounded(Attention):
    """The softmax is rounded to bfloat16."""

    def shared(self, shares):
        return bfloat16(shares).astype(self.dtype)


class Scaled:
    """Mixed into an attention layer: the products are multiplied by ``factor``."""

    def attend(self, q, k, v):
        return super().attend(self.factor(q) * q, k, v)

    def attend_back(self, g):
        dq, dk, dv = super().attend_back(g)
        return [self.factor(g) * dq, dk, dv]


class Unscaled(Scaled):
    """They are not divided by the root of a head's width."""

    def factor(self, x):
        return np.sqrt(x.shape[-1] / self.heads).astype(self.dtype)


class ScaledTwice(Scaled):
    """They are divided by the root of a head's width twice."""

    def factor(self, x):
        return 1 / np.sqrt(x.shape[-1] / self.heads).astype(self.dtype)


class ScaledByWidth(Scaled):
    """They are divided by the root of the network's width."""

    def factor(self, x):
        return 1 / np.sqrt(self.heads).astype(self.dtype)


def mixed(mixin, kind=transformer.Attention, chosen=lambda name: True):
    """``with_network`` that mixes ``mixin`` into the layers of a kind whose name is ``chosen``."""

    def changed(layer, settings):
        if chosen(layer.name):
            layer.__class__ = type(mixin.__name__, (mixin, type(layer)), {})
        return layer

    return each(kind, changed)


def scaled_queries(factor):
    """A cause's ``make``: the weights of the queries are multiplied by ``factor(width of a head)``.

    What comes out is divided again; scores are those of a scaled attention, updates are not.
    """

    def change(back):
        def changed(name, w):
            fused = name.endswith(("qkv.weight", "qkv.bias"))
            if not fused and not name.endswith("attention.q.weight"):
                return w
            number = factor(len(w) // (3 if fused else 1) // 4)
            scaled = w.copy()
            scaled[: len(w) // (3 if fused else 1)] *= w.dtype.type(1 / number if back else number)
            return scaled

        return changed

    return with_weights(change(False), change(True))


def attention():
    """Causes of wrong scores in attention."""
    return under(
        "attention",
        [
            Cause("the attention is not scaled by the root of a head's width", mixed(Unscaled)),
            Cause("the attention is scaled twice", mixed(ScaledTwice)),
            Cause(
                "the attention is scaled by the root of the network's width, not of a head's",
                mixed(ScaledByWidth),
            ),
            Cause(
                "the queries' weights are multiplied by the root of a head's width",
                scaled_queries(lambda width: width**0.5),
            ),
            Cause(
                "the queries' weights are divided by the root of a head's width",
                scaled_queries(lambda width: width**-0.5),
            ),
            Cause("the queries' weights are halved", scaled_queries(lambda width: 0.5)),
            Cause("the softmax of the attention is rounded to bfloat16", mixed(Rounded), 0.02),
        ],
    ) + under(
        "causal mask",
        [
            Cause("there is no causal mask: places see later ones", mixed(Unmasked)),
            Cause("the causal mask hides a place from itself, too", mixed(Strict)),
            Cause("the causal mask is inverted: it hides what should be seen", mixed(Inverted)),
            *(
                Cause(
                    "a place sees the last %d places alone (a window)" % size, mixed(windowed(size))
                )
                for size in (CONTEXT - 1, CONTEXT // 2, CONTEXT // 4)
            ),
        ],
    )


# Normalisations and blocks.


class Skipped:
    """Mixed into a normalisation: it does nothing."""

    def forward(self, x, training):
        return x

    def backward(self, g):
        for gradient in self.gradients:
            gradient[:] = 0
        return g


class RoundedFeatures:
    """Mixed into a normalisation: features are rounded to bfloat16 before they meet the weight."""

    def forward(self, x, training):
        super().forward(x, training)
        weight, *bias = self.parameters
        return bfloat16(self.normal).astype(self.dtype) * weight + (bias[0] if bias else 0)


class RoundedNorm:
    """Mixed into a normalisation: its result is rounded to bfloat16."""

    def forward(self, x, training):
        return bfloat16(super().forward(x, training)).astype(self.dtype)


def normalising(epsilon):
    """A mixin for a normalisation with another epsilon."""

    class Other:
        def forward(self, x, training):
            weight, *bias = self.parameters
            if bias:
                x = x - x.mean(-1, keepdims=True)
            self.scale = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)
            self.normal = x * self.scale
            return self.normal * weight + (bias[0] if bias else 0)

    return Other


def _after(settings, layer):
    norm, *body = layer.body
    return [layers.Residual(settings, body), norm]


def _before(settings, layer):
    norm, *body = layer.body
    return [norm, layers.Residual(settings, body)]


def blocks(change, chosen=lambda norm: True):
    """``with_network`` that replaces a residual block by the layers ``change(settings, block)``."""

    def changed(settings, network):
        made = []
        for layer in network:
            residual = isinstance(layer, layers.Residual) and chosen(layer.body[0].name)
            made += change(settings, layer) if residual else [layer]
        return made

    return with_network(changed)


def normalisations(kind, concept):
    """Causes of wrong scores in normalisations, and in where they are."""
    first, second = (lambda name, end=end: name.endswith(end) for end in ("norm1", "norm2"))
    places = (
        ("the epsilon of the normalisations", lambda name: True),
        ("the epsilon of norm1 in each block", first),
        ("the epsilon of norm2 in each block", second),
        ("the epsilon of the last normalisation", lambda name: name == "norm"),
    )
    epsilons = [(epsilon, "") for epsilon in (1e-3, 1e-6, 1e-7, 1e-8)]
    epsilons += [
        (1e-12, ", or next to none"),
        (float(np.finfo(np.float32).eps), " (float32's own)"),
    ]
    causes = [
        Cause(
            "%s is %g%s, not 1e-05" % (where, epsilon, more),
            mixed(normalising(epsilon), kind, chosen),
        )
        for where, chosen in places
        for epsilon, more in epsilons
    ]
    for which, chosen in (
        ("the normalisations are", lambda name: True),
        ("the attention's normalisation is", first),
        ("the MLP's normalisation is", second),
    ):
        says = "%s after the sum, not before the branch (post-norm)" % which
        causes.append(Cause(says, blocks(_after, chosen)))
        says = "%s before the shortcut, too: the sum begins with what is normalised" % which
        causes.append(Cause(says, blocks(_before, chosen)))
    causes += [
        Cause("there is no last normalisation", mixed(Skipped, kind, lambda name: name == "norm")),
        Cause("the normalisations are rounded to bfloat16", mixed(RoundedNorm, kind), 0.02),
        Cause(
            "the normalisations' features are rounded to bfloat16, before the weight",
            mixed(RoundedFeatures, kind),
            0.3,  # later features, which differ a little, are rounded another way
        ),
    ]
    return under(concept, causes)


# Weights of all blocks.


def of_every_block(shapes):
    """Causes in the weights of one kind, in all blocks at once."""
    causes = []
    for name, shape in shapes.items():
        if not name.startswith("blocks.0."):
            continue
        end = name[len("blocks.0") :]

        def chosen(other, w, end=end):
            return other.endswith(end)

        what = "%s of every block" % end[1:]
        if len(shape) == 2:
            reshaped = with_weights(
                only(chosen, lambda w: w.reshape(w.shape[::-1]).T),
                only(chosen, lambda w: w.T.reshape(w.shape)),
            )
            says = "%s is reshaped to (in, out), where it must be transposed" % what
            causes.append(Cause(says, reshaped, concept="weight layout"))
            if shape[0] == shape[1]:
                swapped = with_weights(*2 * (only(chosen, lambda w: w.swapaxes(0, 1)),))
                says = "in and out of %s are exchanged" % what
                causes.append(Cause(says, swapped, concept="weight layout"))
        elif end.endswith(".bias"):
            lost = with_weights(only(chosen, np.zeros_like), lambda name, w: w)
            says = "%s is left out, or not put in" % what
            causes.append(Cause(says, lost, concept="initial weights put in"))
    return causes


def rounded_matrices():
    """Causes in which products take weights of lower precision."""
    return [
        Cause(
            "products take weights that are rounded to %s" % what,
            with_weights(only(lambda name, w: w.ndim > 1, rounded), lambda name, w: w),
            concept="precision",
        )
        for what, rounded in (("bfloat16", bfloat16), ("TF32", tf32))
    ]


class Larger:
    """Mixed into the embedding: rows are multiplied by the root of the width."""

    def larger(self, x):
        return x * np.sqrt(self.parameters[0].shape[1]).astype(self.dtype)

    def forward(self, tokens, training):
        return self.larger(super().forward(tokens, training))

    def backward(self, g):
        super().backward(self.larger(g))


def embedding():
    """Causes in the tokens' embedding."""

    def put(name, w):
        return np.float32(w * w.shape[1] ** 0.5) if name == "tokens.weight" else w

    return under(
        "embedding",
        [
            Cause(
                "the embeddings are multiplied by the root of the width (not a tied head)",
                mixed(Larger, transformer.Embedding),
            ),
            Cause(
                "the embedding's weight begins multiplied by the root of the width",
                with_weights(put, lambda name, w: w),
            ),
        ],
    )


# The fused product, positions, GELU: the GPT's own.


def _fused(name, w):
    return name.endswith(("qkv.weight", "qkv.bias"))


def _orders():
    says = "the fused product has the order %s"
    yield from in_other_orders(says, PARTS, _fused, 3, 4, -1)
    yield Cause(
        "the fused product has the queries, keys and values of each head together",
        with_weights(only(_fused, interleaved(3, 4, -1)), only(_fused, interleaved(4, 3, -1))),
    )


def _heads(number):
    def changed(layer, settings):
        layer.heads = layer.key_heads = number
        return layer

    return each(transformer.Attention, changed)


def _positions():
    def table(name, w):
        return name == "positions.weight"

    for count in (1, 2):
        yield Cause(
            "positions begin at %d, not at 0" % count,
            with_weights(
                only(table, lambda w, c=count: np.roll(w, -c, 0)),
                only(table, lambda w, c=count: np.roll(w, c, 0)),
            ),
        )
    yield Cause(
        "positions are left out", with_weights(only(table, np.zeros_like), lambda name, w: w)
    )


def _normal_density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def _below(x):
    return (1 + np.asarray(erf(x / np.sqrt(2)), x.dtype)) / 2


def _logistic(factor):
    def slope(x):
        s = layers.sigmoid(factor * x)
        return s * (1 + factor * x * (1 - s))

    return lambda x: x * layers.sigmoid(factor * x), slope


GELUS = (
    (
        "the exact GELU, by erf",
        lambda x: x * _below(x),
        lambda x: _below(x) + x * _normal_density(x),
    ),
    ("the GELU by a sigmoid, x sigmoid(1.702 x)", *_logistic(1.702)),
    ("SiLU", *_logistic(1)),
    ("ReLU", lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
)


def _activation(function, slope):
    def new(layer, settings):
        return Pointwise(
            settings,
            lambda x: function(x).astype(x.dtype, copy=False),
            lambda x: slope(x).astype(x.dtype, copy=False),
        )

    return each(transformer.GELU, new)


def visible(name, w):
    """A tensor without the keys' bias, whose gradient is rounding: Adam may make that large."""
    if not name.endswith("attention.qkv.bias"):
        return w
    queries, _, values = np.split(w, 3)
    return np.concatenate([queries, values])


def network():
    """Causes that change the forward pass."""
    fused = list(_orders())
    fused += [Cause("there are %d heads, not 4" % number, _heads(number)) for number in (1, 2, 8)]
    activations = [
        Cause("the activation is %s, not the approximation with a tanh" % says, _activation(*made))
        for says, *made in GELUS
    ]
    causes = under(QKV, fused) + attention()
    causes += normalisations(transformer.LayerNorm, NORMS) + under("positions", _positions())
    causes += under("GELU", activations) + embedding()
    return causes + of_every_block(SHAPES) + rounded_matrices()


# Training.


def _untied(module):
    """A cause's ``make``: the head has a weight of its own, which begins as the embedding's."""

    def symbol(settings, hp):
        embedding, *others, _ = module.symbol(settings, hp)
        embedding.tied = False
        return [embedding] + others + [layers.Dense(settings, "head", bias=False)]

    def loss(network, settings, hp, weights):
        whole = dict(weights, **{"head.weight": weights["tokens.weight"]})
        return module.loss(network, settings, hp, whole)

    def weights(model):
        return {n: w for n, w in module.weights(model).items() if n != "head.weight"}

    return replaced(module, symbol=symbol, loss=loss, weights=weights)


class Detached:
    """Mixed into the embedding: it leaves the head's gradient as it is."""

    def backward(self, g):
        if not self.tied:
            self.gradients[0][:] = 0


def _alone(settings, network):
    network[0].tied = False
    return network


def training(rule=None):
    """Causes that change updates."""
    return under(
        "tied head",
        [
            Cause("the head is not tied: its weight is trained apart", _untied),
            Cause(
                "the tied weight has no gradient from the embedding",
                mixed(Detached, transformer.Embedding),
            ),
            Cause("the tied weight has no gradient from the head", with_network(_alone)),
        ],
    )


# Generation.


def with_generated(change):
    """A cause's ``make``: ``change(module, model, x, scores)`` gives the generated scores.

    scores: those of the given places, (n, T, words), then the right generated ones.
    """

    def make(module):
        def predict(model, x):
            scores, steps = module.predict(model, x), x.shape[1]
            made = change(module, model, x, scores)
            return np.concatenate([scores[:, :steps], made], 1)

        return replaced(module, predict=predict)

    return make


def _of_first_places(module, model, x, scores):
    return scores[:, : x.shape[1] // 2]


def _of_given_text(module, model, x, scores):
    return scores[:, x.shape[1] // 2 : x.shape[1]]


def _one_behind(module, model, x, scores):
    made = scores[:, x.shape[1] :]
    return np.concatenate([made[:, :1], made[:, :-1]], 1)


def _second(module, model, x, scores):
    """Every token is the second likeliest; without a cache, in whole passes."""
    half, texts, made = x.shape[1] // 2, np.array(x), []
    last = scores[:, half - 1]
    for place in range(half, 2 * half):
        texts[:, place] = last.argsort(-1)[:, -2]
        last = module.score(model, texts)[:, place]
        made.append(last)
    return np.stack(made, 1)


class Unmoved(transformer.Positions):
    """The first of some new tokens is at place 0."""

    def forward(self, x, training):
        return x + self.parameters[0][: x.shape[1]]


class Unkept:
    """Mixed into an attention layer: keys and values are not kept."""

    def attend(self, q, k, v):
        kept, self.past = self.past, transformer.Past()
        try:
            return super().attend(q, k, v)
        finally:
            self.past = kept


def generating():
    """Causes of wrong generated tokens that the Llama has, too."""
    return under(
        "cache of keys and values",
        [
            Cause("the causal mask is not shifted by the cache's length", mixed(Unshifted)),
            Cause("the cache is not read: a new token sees itself alone", mixed(Unkept)),
            Cause(
                "the generated scores are those of the text's first places",
                with_generated(_of_first_places),
            ),
            Cause(
                "a generated token's scores are those of the token before it",
                with_generated(_one_behind),
            ),
        ],
    ) + under(
        "greedy token",
        [
            Cause("the second likeliest token is taken", with_generated(_second)),
            Cause(
                "the given text is read on, not the generated tokens",
                with_generated(_of_given_text),
            ),
        ],
    )


def generation():
    """Causes of wrong generated tokens."""
    says = "positions of generated tokens begin at 0: they are not offset by the cache's length"
    made = of_kind(transformer.Positions, Unmoved)
    return generating() + [Cause(says, made, concept="cache of keys and values")]
