"""Mistakes in dropout."""

from common.mistakes.mistake import mistake
from common.networks.hyperparameters import without_dropout
from common.system.modules import replaced


@mistake("dropout", "dropout")
def rate_taken_for_keep(module):
    """Some frameworks expect the fraction to keep, others the fraction to drop."""

    def symbol(settings, hp):
        rates = tuple(1 - rate if rate else rate for rate in hp.dropout)
        return module.symbol(settings, hp._replace(dropout=rates))

    return replaced(module, symbol=symbol)


@mistake("dropout", "dropout")
def rates_exchanged(module):
    """The rates of the first two layers, which are equal in the recipe."""

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
