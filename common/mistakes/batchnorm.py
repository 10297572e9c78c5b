"""Mistakes in batch normalisation and weight decay."""

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_hp, with_rounded_kernels, with_updates
from common.networks.model import is_state
from common.proof.reference import conventions_of
from common.system.modules import replaced


@mistake("gradient", "batchnorm")
def bias_inside_a_block_lost(module):
    """One normalisation's bias gets no gradient; the next one hides most of the effect."""

    def change(steps, before, update, hp):
        inside = [name for name in update if name.endswith(".norm2.bias")]
        lost = inside[len(inside) // 2]
        return dict(update, **{lost: 0 * update[lost]})

    return with_updates(module, change)


@mistake("gradient", "batchnorm")
def convolution_backward_in_bfloat16(module):
    """Off by bfloat16's rounding; in a deep network, float32's own error is close to TF32's."""
    return with_rounded_kernels(module, 2.0**-8)


@mistake("gradient", "batchnorm")
def kept_part_taken_for_the_new_one(module):
    """Momentum 0.9, passed to a framework that expects the new part, 0.1."""

    def change(steps, before, update, hp):
        return {n: u * (9 if is_state(n) else 1) for n, u in update.items()}

    return with_updates(module, change)


@mistake("gradient", "batchnorm")
def running_variance_not_kept(module):
    """Only the running mean is updated."""

    def change(steps, before, update, hp):
        return {n: u * (not n.endswith(".variance")) for n, u in update.items()}

    return with_updates(module, change)


@mistake("gradient", "batchnorm")
def running_variance_named_wrongly(module):
    """The settings name the wrong divisor."""

    def configure(lane, threads, seed):
        settings = module.configure(lane, threads, seed)
        biased = conventions_of(settings).running_variance == "biased"
        return dict(settings, running_variance="unbiased" if biased else "biased")

    right = module.configure
    return replaced(
        module,
        configure=configure,
        symbol=lambda settings, hp: module.symbol(
            dict(settings, running_variance=conventions_of(right("same", 1, 0)).running_variance),
            hp,
        ),
    )


@mistake("momentum", "batchnorm")
def weight_decay_on_all(module):
    """Biases and batch normalisation decay too."""

    def change(steps, before, update, hp):
        decay = hp.learning_rate * hp.weight_decay
        return {
            n: u - decay * before[n] if u.ndim == 1 and not is_state(n) else u
            for n, u in update.items()
        }

    return with_updates(module, change)


@mistake("momentum", "batchnorm")
def weight_decay_left_out(module):
    """The optimiser's default: no weight decay."""
    return with_hp(module, lambda hp: hp._replace(weight_decay=0.0))


@mistake("gradient", "batchnorm")
def weight_decay_written_in(module):
    """The recipe's value is hard-coded."""
    return with_hp(module, lambda hp: hp._replace(weight_decay=1e-4))
