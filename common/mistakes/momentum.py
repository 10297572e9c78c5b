"""Mistakes in gradient descent with momentum, and in any optimiser's state."""

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_hp, with_updates
from common.system.modules import replaced


@mistake("gradient", "momentum")
def loss_summed(module):
    """The loss is the sum over the batch, not the mean."""

    def change(hp):
        return hp._replace(learning_rate=hp.learning_rate * hp.batch_size)

    return with_hp(module, change)


@mistake("gradient", "momentum")
def batch_size_written_in(module):
    """The gradient is always divided by the recipe's batch size."""
    return with_hp(
        module, lambda hp: hp._replace(learning_rate=hp.learning_rate * hp.batch_size / 64)
    )


@mistake("momentum", "momentum")
def nesterov(module):
    """Nesterov momentum: the weights are one momentum step ahead, w + m v."""

    def change(steps, before, update, hp):
        last = change.last if steps > 1 else {n: 0 for n in update}
        change.last = update
        return {n: u + hp.momentum * (u - last[n]) for n, u in update.items()}

    return with_updates(module, change)


@mistake("momentum", "momentum")
def scaled_gradient(module):
    """Unit gain: v = momentum v + (1 - momentum) g, some frameworks' default."""
    return with_hp(
        module, lambda hp: hp._replace(learning_rate=hp.learning_rate * (1 - hp.momentum))
    )


@mistake("momentum", "momentum")
def momentum_written_in(module):
    """The recipe's value is hard-coded, unless momentum is 0."""
    return with_hp(module, lambda hp: hp._replace(momentum=0.9 if hp.momentum else 0.0))


@mistake("momentum")
def velocity_reset_each_pass(module):
    """The optimiser's state is lost after each pass over the batches."""

    def loss(network, settings, hp, weights):
        return {"model": module.loss(network, settings, hp, weights), "made_of": (settings, hp)}

    def train(wrapped, batches):
        settings, hp = wrapped["made_of"]
        if getattr(hp, "momentum", True) and wrapped.pop("trained", False):
            weights = module.weights(wrapped["model"])
            network = module.symbol(settings, hp)
            wrapped["model"] = module.loss(network, settings, hp, weights)
        wrapped["trained"] = True
        return module.train(wrapped["model"], batches)

    return replaced(
        module,
        loss=loss,
        train=train,
        predict=lambda wrapped, x: module.predict(wrapped["model"], x),
        weights=lambda wrapped: module.weights(wrapped["model"]),
        wait=lambda wrapped: module.wait(wrapped["model"]),
    )


@mistake("momentum", "momentum")
def stops_early(module):
    """A pass ends after 12 batches."""

    def train(model, batches):
        return module.train(model, list(batches)[:12])

    return replaced(module, train=train)


@mistake("gradient", "adam")
@mistake("momentum", "momentum")
def learning_rate_falls_late(module):
    """The learning rate falls by a tenth after 60 steps."""

    def change(steps, before, update, hp):
        return {n: u * (1 if steps <= 60 else 0.9) for n, u in update.items()}

    return with_updates(module, change)


@mistake("gradient", "adam")
@mistake("momentum", "momentum")
def state_lost_late(module):
    """The weights stop moving after 60 steps."""

    def change(steps, before, update, hp):
        return {n: u * (steps <= 60) for n, u in update.items()}

    return with_updates(module, change)


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


@mistake("momentum")
def learning_rate_restarts_at_forty_steps(module):
    """A schedule restarts: ten updates are twice as large."""

    def change(steps, before, update, hp):
        return {n: u * (2 if 40 < steps <= 50 else 1) for n, u in update.items()}

    return with_updates(module, change)
