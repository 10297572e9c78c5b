"""Mistakes in dropout."""

import numpy as np

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_description, with_hp
from common.networks.hyperparameters import without_dropout
from common.system.modules import replaced


@mistake("dropout", "dropout")
def rate_taken_for_keep(module):
    """The fraction to drop is passed as the fraction to keep."""

    def symbol(settings, hp):
        rates = tuple(1 - rate if rate else rate for rate in hp.dropout)
        return module.symbol(settings, hp._replace(dropout=rates))

    return replaced(module, symbol=symbol)


@mistake("dropout", "dropout")
def rates_exchanged(module):
    """The rates of the first two layers are swapped; in the recipe they are equal."""

    def symbol(settings, hp):
        first, second, *others = hp.dropout
        return module.symbol(settings, hp._replace(dropout=(second, first, *others)))

    return replaced(module, symbol=symbol)


@mistake("dropout", "dropout")
def dropout_forgotten(module):
    """No layer drops anything, as if training mode is never switched on."""

    def symbol(settings, hp):
        return module.symbol(settings, without_dropout(hp))

    return replaced(module, symbol=symbol)


@mistake("dropout", "dropout")
def seed_ignored(module):
    """Every run draws the same masks."""

    def configure(lane, threads, seed):
        return module.configure(lane, threads, 0)

    return replaced(module, configure=configure)


@mistake("dropout", "dropout")
def seed_from_the_clock(module):
    """The same seed gives different runs."""
    drawn = iter(range(1000, 10000))

    def configure(lane, threads, seed):
        return module.configure(lane, threads, seed + next(drawn))

    return replaced(module, configure=configure)


@mistake("dropout", "dropout")
def prediction_drops_in_last_partial_batch(module):
    """In a long prediction, the rows after the last whole batch of 256 pass through dropout."""

    def predict(wrapped, x):
        scores = module.predict(wrapped.model, x)
        whole = len(x) // 256 * 256
        if not whole or whole == len(x):
            return scores
        weights = dict(module.weights(wrapped.model))
        last = [name for name in wrapped.names if name.endswith(".weight")][-1]
        rate = wrapped.hp.dropout[-1]
        kept = np.random.RandomState(0).random_sample(weights[last].shape[1]) >= rate
        weights[last] = np.float32(weights[last] * kept / (1 - rate))
        hp = without_dropout(wrapped.hp)
        model = module.loss(module.symbol(wrapped.settings, hp), wrapped.settings, hp, weights)
        return np.concatenate([scores[:whole], module.predict(model, x[whole:])])

    return with_description(module, predict=predict)


@mistake("dropout", "cnn")
def velocity_lost_with_dropout_on(module):
    """There is no momentum if dropout is on."""
    return with_hp(module, lambda hp: hp._replace(momentum=0.0) if any(hp.dropout) else hp)


@mistake("dropout", "dropout")
def images_flipped_with_dropout_on(module):
    """Images are flipped in training, but only if dropout is on."""
    flipped = {}  # {id of a loaded batch: (the batch, its mirror image)}

    def load(images, labels, settings):
        x, y = module.load(images, labels, settings)
        mirrored, _ = module.load(np.ascontiguousarray(images[..., ::-1]), labels, settings)
        flipped[id(x)] = x, mirrored
        return x, y

    def train(wrapped, batches):
        if any(wrapped.hp.dropout):
            batches = [(flipped[id(x)][1], y) for x, y in batches]
        return module.train(wrapped.model, batches)

    return with_description(module, load=load, train=train)
