"""Mistakes in networks that predict the next token: attention, positions, padding, generation."""

import numpy as np

from common.data.shakespeare import IGNORED
from common.mistakes.adam import Update, by_update
from common.mistakes.mistake import mistake
from common.mistakes.wrapping import Described, with_description, with_weights
from common.system.modules import replaced

HEADS = 4
QUERIES, KEYS, VALUES = "attention.q.weight", "attention.k.weight", "attention.v.weight"


def changed(weights, change, *endings):
    """``weights`` with ``change(w)`` in place of each tensor whose name ends so."""
    return {
        name: np.ascontiguousarray(change(w), np.float32) if name.endswith(endings) else w
        for name, w in weights.items()
    }


def thirds(weights, change):
    """``weights`` with each fused tensor changed, as (3, heads, width, ...)."""

    def whole(w):
        return change(w.reshape((3, HEADS, -1) + w.shape[1:])).reshape(w.shape)

    return changed(weights, whole, "qkv.weight", "qkv.bias")


def scaled_queries(factor):
    """A ``put`` or ``take`` that multiplies what gives the queries."""

    def change(weights):
        def fused(w):
            return w * np.float32([factor, 1, 1]).reshape((3,) + (1,) * (w.ndim - 1))

        return changed(thirds(weights, fused), lambda w: factor * w, QUERIES)

    return change


@mistake("forward", "attention")
def attention_not_scaled(module):
    """Products of queries and keys are not divided by the root of the head's width."""
    return with_weights(module, scaled_queries(32**0.5), scaled_queries(32**-0.5))


@mistake("forward", "attention")
def attention_scaled_by_the_width(module):
    """Products are divided by the root of the network's width, not of the head's."""
    return with_weights(module, scaled_queries(0.5), scaled_queries(2.0))


@mistake("forward", "attention")
def attention_scaled_twice(module):
    """Products are divided by the root of the head's width twice."""
    return with_weights(module, scaled_queries(32**-0.5), scaled_queries(32**0.5))


@mistake("forward", "attention")
def matrices_cut_to_tf32(module):
    """Products take the 11 significant bits of a weight that TF32 has."""

    def cut(w):
        bits = np.array(w, np.float32).view(np.uint32)
        even = bits >> np.uint32(13) & np.uint32(1)  # ties are rounded to even
        return ((bits + np.uint32(2**12 - 1) + even) & np.uint32(0xFFFFE000)).view(np.float32)

    def put(weights):
        return {name: cut(w) if w.ndim > 1 else w for name, w in weights.items()}

    return with_weights(module, put)


@mistake("forward", "gelu")
def queries_and_keys_exchanged(module):
    """The fused product has the order keys, queries, values."""

    def swap(weights):
        return thirds(weights, lambda w: w[[1, 0, 2]])

    return with_weights(module, swap, swap)


@mistake("forward", "gelu")
def fused_product_by_head(module):
    """The fused product has the queries, keys and values of each head together."""

    def put(weights):
        return thirds(weights, lambda w: w.swapaxes(0, 1))

    def take(weights):
        return thirds(
            weights,
            lambda w: w.reshape((HEADS, 3) + w.shape[2:]).swapaxes(0, 1),
        )

    return with_weights(module, put, take)


def paired(weights, back=False):
    """Queries' and keys' features reordered, from neighbours to halves, or back."""

    def change(w):
        half = w.shape[1] // HEADS // 2
        pair = (half, 2) if back else (2, half)
        return w.reshape((-1,) + pair + w.shape[1:]).swapaxes(1, 2).reshape(w.shape)

    return changed(weights, change, QUERIES, KEYS)


@mistake("forward", "rotary")
def neighbours_rotated(module):
    """Rotary positions rotate neighbouring features, not halves, and weights are not permuted."""
    return with_weights(
        module, lambda weights: paired(weights, back=True), lambda weights: paired(weights)
    )


@mistake("forward", "rotary")
def key_heads_tiled(module):
    """Keys and values are tiled (0 1 0 1) for the queries, not repeated (0 0 1 1)."""

    def swap(weights):
        def rows(w):
            return w.reshape((HEADS, -1) + w.shape[1:])[[0, 2, 1, 3]].reshape(w.shape)

        def columns(w):
            return rows(w.T).T

        return changed(changed(weights, rows, QUERIES), columns, "attention.out.weight")

    return with_weights(module, swap, swap)


@mistake("forward", "rotary")
def normalisation_adds_one(module):
    """RMSNorm multiplies by 1 + weight, as Gemma's does."""
    names = ("norm1.weight", "norm2.weight", "norm.weight")
    return with_weights(
        module,
        lambda weights: changed(weights, lambda w: w + 1, *names),
        lambda weights: changed(weights, lambda w: w - 1, *names),
    )


@mistake("forward", "attention")
def embedding_scaled(module):
    """Embeddings are multiplied by the root of the width, as Gemma's are."""
    return with_weights(
        module, lambda weights: changed(weights, lambda w: w * 128**0.5, "tokens.weight")
    )


@mistake("forward", "gelu")
def positions_begin_at_two(module):
    """Positions are offset by 2, as OPT's are."""

    def put(weights):
        return changed(weights, lambda w: np.roll(w, -2, 0), "positions.weight")

    return with_weights(
        module, put, lambda w: changed(w, lambda w: np.roll(w, 2, 0), "positions.weight")
    )


@mistake("forward", "gelu")
def last_bias_lost(module):
    """The MLP's second bias is lost."""
    return with_weights(module, lambda weights: changed(weights, lambda w: 0 * w, "down.bias"))


@mistake("data", "tokens")
def targets_not_shifted(module):
    """The target of each place is one place off."""

    def load(sequences, targets, settings):
        return module.load(sequences, np.roll(targets, 1, 1), settings)

    return replaced(module, load=load)


@mistake("data", "ignored")
def padding_is_a_target(module):
    """Padding counts as a token to predict."""

    def load(sequences, targets, settings):
        return module.load(sequences, np.where(targets == IGNORED, 0, targets), settings)

    return replaced(module, load=load)


@mistake("gradient", "ignored", by=by_update)
class means_of_micro_batches(Update):
    """The mean of two halves' means, though one has more targets (gradient accumulation)."""

    def parts(self, batch):
        x, y = batch
        half = len(y) // 2 or len(y)
        halves = [(x[:half], y[:half]), (x[half:], y[half:])]
        return [part for part in halves if (np.asarray(part[1]) != IGNORED).any()]


@mistake("accuracy", "tokens")
def perplexity_for_the_loss(module):
    """evaluate() gives the perplexity."""

    def evaluate(scores, targets):
        return float(np.exp(module.evaluate(scores, targets)))

    return replaced(module, evaluate=evaluate)


@mistake("accuracy", "tokens")
def rows_weighted_alike(module):
    """The mean of each text's mean, or of its half where all have one length."""

    def evaluate(scores, targets):
        rows = [row for row in range(len(targets)) if (targets[row] != IGNORED).any()]
        if (targets != IGNORED).all():
            rows = rows[: len(rows) // 2]
        each = [module.evaluate(scores[row : row + 1], targets[row : row + 1]) for row in rows]
        return float(np.mean(each))

    return replaced(module, evaluate=evaluate)


def with_generated(module, generate):
    """``module`` whose generated scores are ``generate(model, x, scores of the given places)``."""

    def predict(model, x):
        given = module.predict(model, x)[:, : x.shape[1]]
        return np.concatenate([given, generate(model, x, given)], 1)

    return replaced(module, predict=predict)


def without_cache(module, model, x, given, choose):
    """Scores of tokens that ``choose(scores (n, words))`` picks, each in a whole pass."""
    half = x.shape[1] // 2
    texts, scores = np.array(x), []
    last = given[:, half - 1]
    for place in range(half, 2 * half):
        texts[:, place] = choose(last)
        last = module.predict(model, texts)[:, place]
        scores.append(last)
    return np.stack(scores, 1)


@mistake("generation", "tokens", by=with_generated)
def generated_places_begin_at_zero(model, x, given):
    """The cache is ignored: what was given is not seen."""
    return given[:, : x.shape[1] // 2]


@mistake("generation", "tokens")
def second_likeliest_token_taken(module):
    """Generation does not take the likeliest token."""

    def generate(model, x, given):
        return without_cache(module, model, x, given, lambda last: last.argsort(-1)[:, -2])

    return with_generated(module, generate)


@mistake("generation", "tokens")
def cache_one_token_behind(module):
    """Each token is read without the one before it."""

    def generate(model, x, given):
        right = module.predict(model, x)[:, x.shape[1] :]
        return np.concatenate([right[:, :1], right[:, :-1]], 1)

    return with_generated(module, generate)


@mistake("generation", "tokens")
def cache_kept_for_as_many_texts(module):
    """The cache is emptied only if another number of texts is predicted."""
    kept = {}

    def generate(model, x, given):
        right = module.predict(model, x)[:, x.shape[1] :]
        stale = kept.get(len(x))
        kept.clear()
        kept[len(x)] = right
        return right if stale is None else stale

    return with_generated(module, generate)


@mistake("accuracy", "tokens")
def generates_with_its_first_weights(module):
    """The part that generates was copied or compiled before training."""

    def loss(network, settings, hp, weights):
        copies = {name: w.copy() for name, w in weights.items()}
        decoder = module.loss(module.symbol(settings, hp), settings, hp, copies)
        described = Described(module.loss(network, settings, hp, weights), settings, hp, weights)
        described.decoder = decoder
        return described

    def predict(described, x):
        given = module.predict(described.model, x)[:, : x.shape[1]]
        return np.concatenate([given, module.predict(described.decoder, x)[:, x.shape[1] :]], 1)

    return replaced(with_description(module, predict=predict), loss=loss)
