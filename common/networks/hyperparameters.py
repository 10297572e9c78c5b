"""The hyperparameters of training, by optimiser, without the number of epochs."""

from collections import namedtuple

Momentum = namedtuple("Momentum", "batch_size learning_rate momentum dropout")
Momentum.__doc__ = """Gradient descent with classical momentum.

batch_size: observations per step.
learning_rate: the step size; the update is v <- momentum v - learning_rate g, w <- w + v.
momentum: Polyak's, not Nesterov's, and without a gradient scaled by 1 - momentum.
dropout: the fraction *dropped* by each dropout layer, in order.
"""

Decay = namedtuple("Decay", Momentum._fields + ("weight_decay", "depth"))
Decay.__doc__ = """As ``Momentum``, with weight decay, for a network of several depths.

weight_decay: for matrices and kernels, not for biases or batch normalisation; the gradient becomes
    g + weight_decay w before the velocity is updated.
depth: the number of layers with weights, not counting shortcuts.
"""

Divided = namedtuple("Divided", Momentum._fields + ("divisor",))
Divided.__doc__ = """As ``Momentum``, for a network of several widths.

divisor: divides the published numbers of channels and hidden units.
"""

Adam = namedtuple("Adam", "batch_size learning_rate beta1 beta2 epsilon dropout")
Adam.__doc__ = """Adam (Kingma & Ba, 2015), with bias correction of both moments.

batch_size: observations per step.
learning_rate: the step size; the update is w <- w - learning_rate m / (sqrt(v) + epsilon).
beta1, beta2: the fractions of the mean m and the mean square v that each step keeps.
epsilon: added to the square root of the corrected v, not inside it.
dropout: the fraction *dropped* by each dropout layer, in order.
"""

AdamW = namedtuple("AdamW", Adam._fields + ("weight_decay", "clip", "warmup", "steps", "last_rate"))
AdamW.__doc__ = """AdamW (Loshchilov & Hutter, 2019), with a clipped gradient and a schedule.

All fields of ``Adam``; ``learning_rate`` is the highest rate. A step clips the gradient, updates
the moments, multiplies the decayed weights by 1 - rate * weight_decay, and moves all weights by
rate m / (sqrt(v) + epsilon). No optimiser state depends on the decay.

weight_decay: of matrices and embeddings, not of biases or normalisation weights.
clip: the largest norm of all gradients together; a longer gradient is scaled down to it.
warmup: steps of linear warm-up; step t, from 0, has the rate learning_rate (t + 1) / warmup.
steps: where the rate, after a half cosine from the end of the warm-up, is ``last_rate``; it stays
    there. Step t of the cosine has the rate last_rate + (learning_rate - last_rate) (1 + cos(pi
    (t - warmup) / (steps - warmup))) / 2.
last_rate: the lowest rate after the warm-up.
"""

ADAMS = (Adam, AdamW)
NEVER_CLIPPED = 2.0**60  # a norm that no gradient has


def without_dropout(hp):
    """``hp`` with all dropout rates 0."""
    return hp._replace(dropout=(0.0,) * len(hp.dropout))


def plain(hp, batch_size):
    """``hp`` with an optimiser whose step shows the gradient and leaves no state."""
    hp = without_dropout(hp)._replace(batch_size=batch_size, learning_rate=1.0)
    if isinstance(hp, AdamW):
        hp = hp._replace(weight_decay=0.0, clip=NEVER_CLIPPED, warmup=1, last_rate=1.0)
    if isinstance(hp, ADAMS):
        return hp._replace(beta1=0.0, beta2=0.5, epsilon=1.0)
    if isinstance(hp, Decay):
        hp = hp._replace(weight_decay=0.0)
    return hp._replace(momentum=0.0)


def other(hp, batch_size):
    """``hp`` with every value changed, which shows values that a module hard-codes."""
    factor = 0.25 if isinstance(hp, Decay) else 4
    hp = without_dropout(hp)._replace(
        batch_size=batch_size, learning_rate=hp.learning_rate * factor
    )
    if isinstance(hp, AdamW):
        rate = hp.learning_rate / 8
        # It clips every gradient of the long run; ``Oracle`` finds the limit of the momentum model.
        hp = hp._replace(weight_decay=0.5, clip=6.0, warmup=2, steps=6, last_rate=rate)
    if isinstance(hp, ADAMS):
        # Exact in float32, where 1 - 0.999 has only five correct digits.
        return hp._replace(beta1=0.75, beta2=0.875, epsilon=1e-4)
    if isinstance(hp, Decay):
        hp = hp._replace(weight_decay=0.01)
    return hp._replace(momentum=0.7)


def long(hp, batch_size):
    """As ``other``, but a gradient moves weights for many small steps."""
    hp = other(hp, batch_size)
    if isinstance(hp, AdamW):
        hp = hp._replace(warmup=20, steps=60, last_rate=2.0**-16)
    if isinstance(hp, ADAMS):
        return hp._replace(learning_rate=2.0**-14, beta1=1 - 2.0**-5, beta2=1 - 2.0**-6)
    return hp._replace(learning_rate=2.0**-12, momentum=1 - 2.0**-4)
