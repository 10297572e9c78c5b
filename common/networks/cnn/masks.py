"""Dropout seen through the CNN's weights: which values each of its three layers kept in a step.

The last layer's bias makes the network certain of class 0. An observation labelled 0 then has no
gradient, and one labelled k = 1..9 has exactly -1 at score k; there is one of each. A hidden unit u
feeds only score 1 + u % 9, so its gradient comes from that one observation, and what its weights
receive is that observation's features after dropout. Weights and learning rate are so small that
float32 resolves these changes, and that they do not disturb the next step.

Each observation has its own pattern of brightness, which no flip or shift leaves as it is, so that
an image that is changed on the way shows in the features.

Of these features channels 50..99 are 1 before dropout 2. Channels 0..49 went through dropout 1,
too: of each window of the second pool a single value is lit, so that its mask is seen, and not the
maximum of four. A bias behind dropout 1 leaves something of what it dropped, so that the two masks
are told apart, and would show a layer that stands in another place.
"""

import numpy as np

from common.proof import probes, tasks
from common.proof.masks import DROPPED, Masks, before_layer

SEEN = 9  # observations whose masks are seen: the first ones of a batch
RATES = (0.15, 0.3, 0.4)  # no two alike, so that exchanged layers show, and none the recipe's
CHANNELS = np.float32([1, 0.5, 0.25]).reshape(3, 1, 1)  # of an image; no two alike
BETWEEN = 0.5  # the bias between dropout 1 and 2
# Their gradients depend on what dropout 1 did to values that dropout 2 dropped, which is not seen.
UNKNOWN = ("conv3.weight", "conv4.weight")
SMALL = 2.0**-17  # every weight of the first dense layer


def brightness(n):
    """(n, 1, 8, 8): of each observation's lit pixels, by window of the second pool; from 1 to 2."""
    window = np.arange(64).reshape(8, 8) + 7 * np.arange(n).reshape(n, 1, 1, 1)
    return np.float32(1 + window % 64 / 64.0)


def batch(model, batch_size):
    """(weights, images, labels) of a training step that shows the masks."""
    task = tasks.of(model)
    weights = task.fixed_output(probes.zeros(model))
    for layer in ("conv1", "conv2"):
        weights[layer + ".weight"][:, 0, 1, 1] = 1  # every channel shows the first
    for layer in ("conv3", "conv4"):
        kernel = weights[layer + ".weight"]
        for channel in range(50):
            kernel[channel, channel, 1, 1] = 1
    weights["conv3.bias"][:50] = BETWEEN
    weights["conv4.bias"][50:] = 1
    weights["dense1.weight"][:] = SMALL
    for hidden in range(512):
        weights["dense2.weight"][1 + hidden % SEEN, hidden] = 1 / 16.0
    images, labels = task.counted(batch_size, SEEN)
    for row in (0, 1):
        for column in (0, 1):
            images[:, :, row::4, column::4] = brightness(batch_size) * CHANNELS
    return weights, images, labels


def observe(before, after, tied):
    """The ``Masks`` of a step on ``batch`` that turned weights ``before`` into ``after``.

    Layer 2's is (9, 100, 8, 8), layer 3's (9, 512), layer 1's (9, 50, 16, 16): it is seen through
    layer 2, only where something is lit. The gradient that came back through layers 1 and 2 is
    seen in a bias for each channel, through layer 3 in each observation's own units.

    tied: how many pixels of a tied pooling window get its gradient, 1 or 4. ValueError where
    nothing came through a layer at all.
    """
    before = {name: w.astype(np.float64) for name, w in before.items()}
    step = {name: before[name] - after[name] for name in before}
    into_scores = -step["dense2.bias"][1:]  # of the nine: learning rate / batch
    if not into_scores.all():
        raise ValueError("an observation left no gradient")
    features = np.empty((SEEN, 6400))
    returned = np.empty((SEEN, 6400))  # what came back to the features, times the learning rate
    third = -step["dense2.weight"][1:] / into_scores[:, None]
    for n in range(SEEN):
        features[n], returned[n] = before_layer("dense1", np.arange(n, 512, SEEN), before, step)
    hidden = features.dot(before["dense1.weight"].T) + before["dense1.bias"]  # (9, 512)
    came_back, went = np.empty(512), np.empty(512)  # of each observation's own units
    for n in range(SEEN):
        fed = np.arange(n, 512, SEEN)
        came_back[fed] = -step["dense1.bias"][fed] / (
            into_scores[n] * before["dense2.weight"][1 + n, fed]
        )
        # What they add to their own score is too little for weights that are not 0. All nine add
        # to class 0, whose weights are; the other eight are known.
        others = third[:, fed].sum(0) - third[n, fed]
        third[n, fed] = step["dense2.weight"][0, fed] / into_scores[n] - others
        went[fed] = third[n, fed] / hidden[n, fed]
    third /= hidden
    pixels = features.reshape(SEEN, 100, 8, 8)
    lit = pixels[:, :50] * (1 - RATES[1])
    kept = lit > BETWEEN / 2  # by dropout 2, which would leave 0
    through = np.where(
        kept, (lit - BETWEEN) / brightness(SEEN), np.nan
    )  # dropout 1: its scale, or 0
    first = np.full((SEEN, 50, 16, 16), np.nan)
    first[:, :, ::2, ::2] = through
    second = np.concatenate([kept / (1 - RATES[1]), pixels[:, 50:]], 1)
    returned = returned.reshape(pixels.shape)[:, :50] * kept / (1 - RATES[1])
    # Where dropout 1 dropped the lit value, all four of its window are equal.
    equal = np.where(np.abs(through) < DROPPED, tied, 1)
    backward = {
        1: (step["conv2.bias"], tied * np.nansum(returned * through, (0, 2, 3))),
        2: (step["conv4.bias"][:50], (returned * equal).sum((0, 2, 3))),
        3: (came_back, went),
    }
    return Masks({2: second, 3: third, 1: first}, dict(enumerate(RATES, 1)), backward)


def telling(scores):
    """Those without the certain class, beside which the others are nothing."""
    return scores[:, 1:]
