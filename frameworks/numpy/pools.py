"""The backward pass of a 2x2 max-pool in NumPy, as people write it.

``layers.MaxPool`` compares each pixel with its window's maximum again; these pools remember the
positions of the maxima. Each is a lever of the small CNN on MNIST, so you can measure its cost:
``tox run -e bench -- numpy --model mnist_cnn --levers``.
"""

import numpy as np

from frameworks.numpy.layers import MaxPool, xp


def to_windows(x):
    """From images (N, C, H, W) to the four pixels of each window, (N, C, H/2, W/2, 4)."""
    n, channels, height, width = x.shape
    x = x.reshape(n, channels, height // 2, 2, width // 2, 2)
    return x.transpose(0, 1, 2, 4, 3, 5).reshape(n, channels, height // 2, width // 2, 4)


def to_images(windows):
    """From the four pixels of each window to images."""
    n, channels, height, width, _ = windows.shape
    x = windows.reshape(n, channels, height, width, 2, 2).transpose(0, 1, 2, 4, 3, 5)
    return x.reshape(n, channels, 2 * height, 2 * width)


class Placed(MaxPool):
    """Remember the position of the largest pixel of each window, the first of equal ones."""

    def forward(self, x, training):
        """Keep the position of each maximum."""
        windows = to_windows(x)
        self.places = windows.argmax(-1)[..., None]
        return xp.take_along_axis(windows, self.places, -1)[..., 0]  # (N, C, H/2, W/2)


class Looped(Placed):
    """Assign the gradients one by one, in Python."""

    def backward(self, g):
        """Give each gradient to the pixel that was the maximum."""
        windows = xp.zeros(self.places.shape[:-1] + (4,), self.dtype)
        for at in np.ndindex(*g.shape):
            windows[at + (int(self.places[at][0]),)] = g[at]
        return to_images(windows)


class Indexed(Placed):
    """Assign all gradients at once, by arrays of indices."""

    def backward(self, g):
        """Give each gradient to the pixel that was the maximum."""
        n, channel, row, column = xp.ogrid[tuple(slice(size) for size in g.shape)]
        down, right = self.places[..., 0] // 2, self.places[..., 0] % 2
        dx = xp.zeros(g.shape[:2] + (2 * g.shape[2], 2 * g.shape[3]), self.dtype)
        dx[n, channel, 2 * row + down, 2 * column + right] = g
        return dx


class Put(Placed):
    """Assign all gradients at once, by ``put_along_axis``."""

    def backward(self, g):
        """Give each gradient to the pixel that was the maximum."""
        windows = xp.zeros(g.shape + (4,), self.dtype)
        xp.put_along_axis(windows, self.places, g[..., None], -1)
        return to_images(windows)


class Masked(Placed):
    """Multiply the gradients by a mask."""

    def backward(self, g):
        """Give each gradient to the pixel that was the maximum."""
        return to_images(g[..., None] * (self.places == xp.arange(4)))
