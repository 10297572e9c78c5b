"""Mistakes in batch normalisation and weight decay."""

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_hp, with_rounded_kernels, with_updates
from common.networks.model import is_state
from common.proof.reference import conventions_of
from common.system.modules import replaced


@mistake("gradient", "batchnorm", by=with_updates)
def bias_inside_a_block_lost(steps, before, update, hp):
    """One normalisation's bias has no gradient; the next normalisation hides most of the effect."""
    inside = [name for name in update if name.endswith(".norm2.bias")]
    lost = inside[len(inside) // 2]
    return dict(update, **{lost: 0 * update[lost]})


@mistake("gradient", "batchnorm", of_squares="accuracy")
def convolution_backward_in_bfloat16(module):
    """Kernels' gradients have bfloat16's rounding.

    In a deep net, TF32's rounding cannot be told from float32's.
    """
    return with_rounded_kernels(module, 2.0**-8)


@mistake("gradient", "batchnorm", by=with_updates)
def kept_part_taken_for_the_new_one(steps, before, update, hp):
    """The framework expects the new values' share, 0.1, but gets the kept share, 0.9."""
    return {n: u * (9 if is_state(n) else 1) for n, u in update.items()}


@mistake("gradient", "batchnorm", by=with_updates)
def running_variance_not_kept(steps, before, update, hp):
    """Only the running mean is updated."""
    return {n: u * (not n.endswith(".variance")) for n, u in update.items()}


@mistake("gradient", "batchnorm")
def running_variance_named_wrongly(module):
    """The settings name the wrong divisor of the running variance."""

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


@mistake("momentum", "batchnorm", by=with_updates)
def weight_decay_on_all(steps, before, update, hp):
    """Biases and batch normalisation decay too."""
    decay = hp.learning_rate * hp.weight_decay
    return {
        n: u - decay * before[n] if u.ndim == 1 and not is_state(n) else u
        for n, u in update.items()
    }


@mistake("momentum", "batchnorm", by=with_hp)
def weight_decay_left_out(hp):
    """There is no weight decay, as by an optimiser's default."""
    return hp._replace(weight_decay=0.0)


@mistake("gradient", "batchnorm", by=with_hp)
def weight_decay_written_in(hp):
    """The recipe's value is hard-coded."""
    return hp._replace(weight_decay=1e-4)
