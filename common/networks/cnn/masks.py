"""Read the CNN's dropout masks from its weights: which values each of three layers kept in a step.

The last layer's bias makes the predicted probability of class 0 exactly 1. An observation labelled
0 then has no gradient, and one labelled k = 1..9 has exactly -1 at score k; there is one of each.
Hidden unit u feeds only score 1 + u % 9. So its gradient comes from that one observation, and its
weights' gradients are that observation's features after dropout. Weights and learning rate are so
small that float32 resolves these changes, and that they do not disturb the next step.

Each observation has its own pattern of brightness, which every flip or shift changes, so the
features show any change of an image.

Before dropout 2, feature channels 50..99 are 1. Channels 0..49 have passed dropout 1 too; in each
window of the second pool a single value is lit, so that its own mask shows, not the maximum of
four. A bias after dropout 1 leaves a remainder where dropout 1 dropped a value, which distinguishes
the two masks, and would reveal a dropout layer in another place.
"""

import numpy as np

from common.proof import probes, tasks
from common.proof.masks import DROPPED, Masks, before_layer

SEEN = 9  # observations whose masks can be read: the first ones of a batch
RATES = (0.15, 0.3, 0.4)  # all differ, so that swapped layers show, and none is the recipe's
CHANNELS = np.float32([1, 0.5, 0.25]).reshape(3, 1, 1)  # an image's channels, all different
BETWEEN = 0.5  # the bias between dropout 1 and 2
# Their gradients depend on dropout 1's mask where dropout 2 dropped, which cannot be read.
UNKNOWN = ("conv3.weight", "conv4.weight")
SMALL = 2.0**-17  # every weight of the first dense layer


def brightness(n):
    """(n, 1, 8, 8): the brightness of lit pixels, by window of the second pool, from 1 to 2."""
    window = np.arange(64).reshape(8, 8) + 7 * np.arange(n).reshape(n, 1, 1, 1)
    return np.float32(1 + window % 64 / 64.0)


# By so many pixels of dropout 1 the lit ones are moved; together, they show all places.
SHIFTS = [dict(down=down, right=right) for down in (0, 1) for right in (0, 1)]


def batch(model, batch_size, down=0, right=0):
    """(weights, images, labels) of a training step that reveals the masks.

    down, right: of ``SHIFTS``.
    """
    task = tasks.of(model)
    weights = task.fixed_output(probes.zeros(model))
    for layer in ("conv1", "conv2"):
        weights[layer + ".weight"][:, 0, 1, 1] = 1  # every channel copies the first
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
            lit = brightness(batch_size) * CHANNELS
            images[:, :, 2 * down + row :: 4, 2 * right + column :: 4] = lit
    return weights, images, labels


def observe(before, after, tied, down=0, right=0):
    """The ``Masks`` of a step on ``batch`` that turned weights ``before`` into ``after``.

    Shapes are (9, 100, 8, 8) for layer 2, (9, 512) for layer 3 and (9, 50, 16, 16) for layer 1,
    which is read through layer 2, only where a pixel is lit. A bias per channel shows the gradient
    that came back through layers 1 and 2; each observation's own units show that of layer 3.

    tied: how many pixels of a tied pooling window get its gradient, 1 or 4. ValueError if nothing
    came through a layer.
    """
    before = {name: w.astype(np.float64) for name, w in before.items()}
    step = {name: before[name] - after[name] for name in before}
    into_scores = -step["dense2.bias"][1:]  # learning rate / batch, for each of the nine
    if not into_scores.all():
        raise ValueError("an observation left no gradient")
    features = np.empty((SEEN, 6400))
    returned = np.empty((SEEN, 6400))  # the features' gradient, times the learning rate
    third = -step["dense2.weight"][1:] / into_scores[:, None]
    for n in range(SEEN):
        features[n], returned[n] = before_layer("dense1", np.arange(n, 512, SEEN), before, step)
    hidden = features.dot(before["dense1.weight"].T) + before["dense1.bias"]  # (9, 512)
    came_back, went = np.empty(512), np.empty(512)  # for each observation's own units
    for n in range(SEEN):
        fed = np.arange(n, 512, SEEN)
        came_back[fed] = -step["dense1.bias"][fed] / (
            into_scores[n] * before["dense2.weight"][1 + n, fed]
        )
        # Their own score's weights are not 0, so these updates have too few digits. The weights of
        # class 0 are 0, but all nine observations update them; the other eight are known.
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
    first[:, :, down::2, right::2] = through
    second = np.concatenate([kept / (1 - RATES[1]), pixels[:, 50:]], 1)
    returned = returned.reshape(pixels.shape)[:, :50] * kept / (1 - RATES[1])
    # If dropout 1 dropped the lit value, all four values of its window are equal.
    equal = np.where(np.abs(through) < DROPPED, tied, 1)
    backward = {
        1: (step["conv2.bias"], tied * np.nansum(returned * through, (0, 2, 3))),
        2: (step["conv4.bias"][:50], (returned * equal).sum((0, 2, 3))),
        3: (came_back, went),
    }
    return Masks({2: second, 3: third, 1: first}, dict(enumerate(RATES, 1)), backward)


def telling(scores):
    """The scores without class 0, whose fixed score dwarfs the others."""
    return scores[:, 1:]
