"""The ``synthetic`` set: CIFAR-10's shapes without CIFAR-10, made where it is needed.

A class is one of five colour axes and one of two directions of fine stripes: each stripe is lighter
than the ground along the axis, the next one darker. Over an image's own stripes lie those of
another class, usually fainter, and noise. Which stripes are the light ones is even chance, so the
mean image of every class is the same flat grey and a linear model of the pixels stays at chance; a
convolution sees the contrast whatever its sign. In 3% of the images the other class's stripes are
the stronger ones and nobody could tell, so accuracy stays near or below 97%.

Only bytes of ``RandomState``, whose streams are frozen, and integer arithmetic: every NumPy on
every CPU gives the same bits.
"""

import numpy as np

SEED = 10
CHUNK = 1000  # images drawn from one seed, so that fewer images are the first of more
COLOURS = np.array([(1, 1, 1), (1, 1, -1), (1, -1, 1), (-1, 1, 1), (1, 0, -1)], np.int16)
DASH = 8


def make(train=50000, test=10000):
    """Training images (train, 3, 32, 32) uint8, their labels (train,) int64, and the same for test.

    Fewer are the first of more: ``make(100, 10)`` is the start of ``make()``. The whole set takes
    about 4 s.
    """
    arrays = []
    for split, count in enumerate((train, test)):
        images = np.empty((count, 3, 32, 32), np.uint8)
        labels = np.empty(count, np.int64)
        for start in range(0, count, CHUNK):
            rows = slice(start, min(start + CHUNK, count))
            chunk_images, chunk_labels = _draw([SEED, split, start // CHUNK])
            images[rows] = chunk_images[: rows.stop - start]
            labels[rows] = chunk_labels[: rows.stop - start]
        arrays += [images, labels]
    return tuple(arrays)


def _draw(seed):
    """CHUNK images (CHUNK, 3, 32, 32) uint8 and their labels (CHUNK,), each class equally often."""
    random = np.random.RandomState(seed)

    def draw(limit, *shape):
        """Integers (CHUNK, *shape) in 0 to limit - 1, where limit divides 256."""
        shape = (CHUNK,) + shape
        drawn = np.frombuffer(random.bytes(int(np.prod(shape))), np.uint8).reshape(shape)
        return (drawn % limit).astype(np.int16)

    labels = random.permutation(CHUNK) % 10
    others = (labels + 1 + random.permutation(CHUNK) % 9) % 10
    images = draw(64, 3, 32, 32)  # the noise of each pixel
    images += 80 + draw(32, 3, 1, 1)  # the ground's colour
    for classes, contrast in ((labels, 48 + draw(64)), (others, draw(64))):
        dashes = (1 - 2 * draw(2, 32, 32 // DASH)) * contrast[:, None, None]
        dashes = np.repeat(dashes, DASH, axis=2)  # (CHUNK, 32, 32), along the rows
        upright = classes % 2 == 1
        dashes[upright] = dashes[upright].transpose(0, 2, 1)
        images += COLOURS[classes // 2][:, :, None, None] * dashes[:, None]
    return np.clip(images, 0, 255).astype(np.uint8), labels
