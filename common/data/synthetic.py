"""The ``synthetic`` set: generated images of CIFAR-10's shapes.

A class has one of five colour axes and one of two directions of fine stripes, which are lighter and
darker than the background along the axis in turn. Noise and stripes of another class, usually
fainter, are added. In 3% of the images the other class's stripes are stronger and hide the class,
so accuracy remains near or below 97%.

Every image is followed by its negative, of the same class. So each pixel has the same mean in every
class, no pixel correlates with the class, and a linear model of the pixels can do no better than
ignore them. A convolution with a ReLU detects contrast of either sign.

The code uses only integer arithmetic and bytes from ``RandomState``, whose streams are frozen, so
every NumPy on every CPU gives the same bits.
"""

import numpy as np

SEED = 10
CHUNK = 1000  # images per seed, half of them negatives
COLOURS = np.array([(1, 1, 1), (1, 1, -1), (1, -1, 1), (-1, 1, 1), (1, 0, -1)], np.int16)
STRIPES = np.array([1, -1] * 16, np.int16)


def make(train=50000, test=10000):
    """Training images (train, 3, 32, 32) uint8, their labels (train,) int64, and the same for test.

    A smaller set is the start of a larger one: ``make(100, 10)`` is the start of ``make()``.
    """
    arrays = []
    for split, count in enumerate((train, test)):
        images = np.empty((count, 3, 32, 32), np.uint8)
        labels = np.empty(count, np.int64)
        for start in range(0, count, CHUNK):
            stop = min(start + CHUNK, count)
            drawn_images, drawn_labels = _draw([SEED, split, start // CHUNK])
            images[start:stop] = drawn_images[: stop - start]
            labels[start:stop] = drawn_labels[: stop - start]
        arrays += [images, labels]
    return tuple(arrays)


def _draw(seed):
    """CHUNK images (CHUNK, 3, 32, 32) uint8 and their labels (CHUNK,), each class equally often."""
    random = np.random.RandomState(seed)
    half = CHUNK // 2

    def draw(limit, *shape):
        """Integers (half, *shape) in 0 to limit - 1, where limit divides 256."""
        shape = (half,) + shape
        drawn = np.frombuffer(random.bytes(int(np.prod(shape))), np.uint8).reshape(shape)
        return (drawn % limit).astype(np.int16)

    labels = random.permutation(half) % 10
    others = (labels + 1 + random.permutation(half) % 9) % 10
    images = draw(64, 3, 32, 32)  # the noise of each pixel
    images += 80 + draw(32, 3, 1, 1)  # the background's colour
    for classes, contrast in ((labels, 48 + draw(64)), (others, draw(64))):
        height = contrast * (1 - 2 * draw(2))  # the sign is the stripes' phase
        stripes = (COLOURS[classes // 2] * height[:, None])[:, :, None] * STRIPES  # (half, 3, 32)
        upright = classes % 2 == 1
        images[upright] += stripes[upright][:, :, None, :]
        images[~upright] += stripes[~upright][:, :, :, None]
    images = np.clip(images, 0, 255)
    pairs = np.stack([images, 255 - images], axis=1).astype(np.uint8)
    return pairs.reshape(CHUNK, 3, 32, 32), labels.repeat(2)
