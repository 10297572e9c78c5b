"""Mistakes in gradient descent with momentum, and in any optimiser's state."""

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_description, with_hp, with_updates
from common.system.modules import replaced


@mistake("gradient", "momentum", by=with_hp)
def loss_summed(hp):
    """The loss is the sum over the batch, not the mean."""
    return hp._replace(learning_rate=hp.learning_rate * hp.batch_size)


@mistake("gradient", "momentum", by=with_hp)
def batch_size_written_in(hp):
    """The gradient is always divided by the recipe's batch size."""
    return hp._replace(learning_rate=hp.learning_rate * hp.batch_size / 64)


@mistake("momentum", "momentum")
def nesterov(module):
    """Nesterov momentum: the weights are one momentum step ahead, w + m v."""

    def change(steps, before, update, hp):
        last = change.last if steps > 1 else {n: 0 for n in update}
        change.last = update
        return {n: u + hp.momentum * (u - last[n]) for n, u in update.items()}

    return with_updates(module, change)


@mistake("momentum", "momentum", by=with_hp)
def scaled_gradient(hp):
    """Unit gain: v = momentum v + (1 - momentum) g, some frameworks' default."""
    return hp._replace(learning_rate=hp.learning_rate * (1 - hp.momentum))


@mistake("momentum", "momentum", by=with_hp)
def momentum_written_in(hp):
    """The recipe's value is hard-coded, unless momentum is 0."""
    return hp._replace(momentum=0.9 if hp.momentum else 0.0)


@mistake("momentum")
def velocity_reset_each_pass(module):
    """The optimiser's state is lost after each pass over the batches."""

    def train(described, batches):
        settings, hp = described.settings, described.hp
        if getattr(hp, "momentum", True) and hasattr(described, "trained"):
            weights = module.weights(described.model)
            described.model = module.loss(module.symbol(settings, hp), settings, hp, weights)
        described.trained = True
        return module.train(described.model, batches)

    return with_description(module, train=train)


@mistake("momentum", "momentum")
def stops_early(module):
    """A pass ends after 12 batches."""

    def train(model, batches):
        return module.train(model, list(batches)[:12])

    return replaced(module, train=train)


@mistake("gradient", "adam")
@mistake("momentum", "momentum", by=with_updates)
def learning_rate_falls_late(steps, before, update, hp):
    """The learning rate falls by a tenth after 60 steps."""
    return {n: u * (1 if steps <= 60 else 0.9) for n, u in update.items()}


@mistake("gradient", "adam")
@mistake("momentum", "momentum", by=with_updates)
def state_lost_late(steps, before, update, hp):
    """The weights stop moving after 60 steps."""
    return {n: u * (steps <= 60) for n, u in update.items()}


@mistake("momentum")
def weights_averaged_every_thirty_steps(module):
    """Every thirtieth step sets the weights to their moving average, as with ``use_ema``."""

    def change(steps, before, update, hp):
        after = {n: before[n] + u for n, u in update.items()}
        last = change.average if steps > 1 else before
        change.average = {n: (last[n] + w) / 2 for n, w in after.items()}
        weights = after if steps % 30 else change.average
        return {n: w - before[n] for n, w in weights.items()}

    return with_updates(module, change)


@mistake("momentum")
def lookahead_every_twenty_five_steps(module):
    """Every 25th step moves the weights halfway back to where they were 25 steps ago."""

    def change(steps, before, update, hp):
        if steps == 1:
            change.slow = before
        if steps % 25:
            return update
        change.slow = {n: (w + before[n] + update[n]) / 2 for n, w in change.slow.items()}
        return {n: w - before[n] for n, w in change.slow.items()}

    return with_updates(module, change)


@mistake("momentum", by=with_updates)
def learning_rate_restarts_at_forty_steps(steps, before, update, hp):
    """A schedule restarts: ten updates are twice as large."""
    return {n: u * (2 if 40 < steps <= 50 else 1) for n, u in update.items()}
