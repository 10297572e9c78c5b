"""The CNN's convolutions, on a layout that suits 3x3 windows and a CPU.

Inside the network, images are channels-last "strips" that share their zero borders. A convolution
then needs three shifted copies of an image, not nine: with these side by side, every 3x3 window is
contiguous memory that BLAS takes as it is (see ``ConvolutionReLU.windows``).

BLAS uses several threads only in products, and half of a step is copies, pools and ReLUs. So in
lane best each thread takes a share of the images through the whole layer, with a single-threaded
BLAS. Gradients are summed in the order of the shares, so runs are reproducible.
"""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import threadpoolctl

from frameworks.numpy.layers import (
    Convolution,
    Flatten,
    Layer,
    MaxPool,
    ReLU,
    largest_and_gap,
    winners,
    xp,
)


@functools.lru_cache(maxsize=None)
def blas():
    """The BLAS that NumPy has loaded, cached because finding it takes a millisecond."""
    return threadpoolctl.ThreadpoolController()


@functools.lru_cache(maxsize=None)
def pool_of(threads):
    """A pool of threads, which all layers share."""
    return ThreadPoolExecutor(threads)


class StripLayer(Layer):
    """A layer whose images are in strips."""

    def strip(self, name, n, side, channels):
        """A buffer for n images in sequence, in which every pixel has eight neighbours.

        The zero column to the right of an image is also the left border of its next row, and the
        zero row below it is the upper border of the next image. Both ends have an extra row and
        pixel.
        """
        return self.buffer(name, n * (side + 1) ** 2 + 2 * (side + 2), channels)


def pictures(strip, side):
    """View a strip as images with their zero column and row."""
    return strip[side + 2 : -side - 2].reshape(-1, side + 1, side + 1, strip.shape[1])


class ToStrip(StripLayer):
    """From images (N, C, H, W) to a strip."""

    def forward(self, x, training):
        """Move the channels last and add the borders."""
        n, channels, side, _ = x.shape
        strip = self.strip("out", n, side, channels)
        pictures(strip, side)[:, :-1, :-1] = x.transpose(0, 2, 3, 1)
        return strip  # (N (H+1) (W+1) + ends, C)

    def backward(self, g):
        """Do nothing: the gradient of the images is not needed."""


class ConvolutionReLU(StripLayer):
    """3x3 cross-correlation, bias, ReLU and perhaps a 2x2 max-pool, from strip to strip.

    Pooling comes before bias and ReLU, which then have a quarter of the work; the maximum commutes
    with both. It takes a few images at a time, so that intermediate results are in the cache.
    """

    def __init__(self, settings, name, inputs, outputs, side, pool=False, input_gradient=True):
        super().__init__(settings, name)
        self.inputs, self.outputs, self.side = inputs, outputs, side
        self.out_side = side // 2 if pool else side
        self.pool, self.input_gradient = pool, input_gradient

    def put(self, weight, bias):
        """Turn the canonical (out, in, y, x) into a matrix, in the order of ``windows``."""
        super().put(weight.T.reshape(-1, self.outputs), bias)  # (9 C, O), rows by x, y, in

    def canonical(self):
        """Turn the matrix back."""
        weight, bias = self.parameters
        return weight.reshape(3, 3, self.inputs, self.outputs).T, bias  # (O, C, 3, 3)

    def share_out(self, work, n):
        """Call ``work(share, chunks)`` for each thread's share of n images; return all results."""
        shares = self.settings["shares"]
        ends = [n * share // shares for share in range(shares + 1)]
        chunks = [self.chunks(*ends[share : share + 2]) for share in range(shares)]
        if shares == 1:
            return [work(0, chunks[0])]
        with blas().limit(limits=1, user_api="blas"):
            return list(pool_of(shares).map(work, range(shares), chunks))

    def chunks(self, start, end):
        """Yield slices of a few images, and of their rows in a strip."""
        border, area, step = self.side + 2, (self.side + 1) ** 2, self.settings["chunk_images"]
        for first in range(start, end, step):
            last = min(first + step, end)
            yield slice(first, last), slice(border + first * area, border + last * area)

    def windows(self, x, rows, share):
        """Yield the 3x3 windows around rows of strip x, as three matrices of every third window.

        Each pixel is stored between its upper and its lower neighbour. A window is then three
        successive rows, 9 C contiguous numbers, and the window three pixels further is the next
        row of a plain matrix.
        """
        count, channels, width = rows.stop - rows.start, x.shape[1], self.side + 1
        most = self.settings["chunk_images"] * width**2
        columns = self.buffer("columns of %d, %d" % (channels, share), most + 2, 3, channels)
        for i, shift in enumerate((-width, 0, width)):
            columns[: count + 2, i] = x[rows.start - 1 + shift : rows.stop + 1 + shift]
        for third in range(3):
            size = (count - third + 2) // 3
            yield third, columns[third : third + 3 * size].reshape(size, 9 * channels)

    def correlate(self, x, weight, rows, out, share):
        """Cross-correlate rows of strip x, into the same rows of strip out."""
        for third, windows in self.windows(x, rows, share):
            xp.matmul(windows, weight, out=out[rows][third::3])

    def forward(self, x, training):
        """Keep x and the pool's input for the backward pass."""
        n = len(pictures(x, self.side))
        self.x, self.y = x, self.strip("y", n, self.side, self.outputs)
        self.out = self.strip("out", n, self.out_side, self.outputs) if self.pool else self.y
        self.share_out(self.forward_share, n)
        return self.out

    def forward_share(self, share, chunks):
        """A thread's part of the forward pass."""
        weight, bias = self.parameters
        for some, rows in chunks:
            self.correlate(self.x, weight, rows, self.y, share)
            out = pictures(self.out, self.out_side)[some]  # (n, H+1, W+1, O)
            inner = out[:, :-1, :-1]
            if self.pool:
                a, b, c, d = quarters(pictures(self.y, self.side)[some])
                xp.maximum(xp.maximum(a, b), xp.maximum(c, d), out=inner)  # (n, H/2, W/2, O)
            inner += bias
            xp.maximum(inner, 0, out=inner)
            out[:, -1] = out[:, :, -1] = 0  # the correlation also wrote to the borders

    def kinks(self, x, training):
        """The gradient jumps where a pool chooses another pixel, and where a ReLU's input is 0."""
        n = len(pictures(x, self.side))
        y = self.strip("before relu", n, self.side, self.outputs)
        for _, rows in self.chunks(0, n):
            self.correlate(x, self.parameters[0], rows, y, 0)
        y = pictures(y, self.side)[:, :-1, :-1] + self.parameters[1]  # (N, H, W, O)
        if self.pool:
            y, gaps = largest_and_gap(xp.stack([y[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]))
            # If the ReLU gives 0, it does not matter which pixel is the largest.
            yield y, np.where(y > 0, gaps, np.inf)
        yield y, np.abs(y)

    def backward(self, g):
        """Sum the gradients of weight and bias; return that of x if it is needed."""
        n = len(pictures(self.x, self.side))
        borders = pictures(g, self.out_side)  # the next share reads them
        borders[:, -1] = borders[:, :, -1] = 0
        self.g, self.dy = g, self.strip("dy", n, self.side, self.outputs) if self.pool else g
        dx = self.dx = self.strip("dx", n, self.side, self.inputs) if self.input_gradient else None
        shares = self.share_out(self.backward_share, n)
        for gradient, parts in zip(self.gradients, zip(*shares)):
            gradient[:] = sum(parts)
        return dx

    def backward_share(self, share, chunks):
        """A thread's part of the backward pass; returns its sums for weight and bias."""
        weight, bias = (
            self.buffer("%s, %d" % (kind, share), *gradient.shape)
            for kind, gradient in zip(self.kinds, self.gradients)
        )
        weight[:] = bias[:] = 0
        part = self.buffer("part, %d" % share, *weight.shape)
        # The gradient of a correlation is a correlation with the kernel rotated by 180 degrees.
        turned = self.parameters[0].reshape(3, 3, self.inputs, self.outputs)[::-1, ::-1]
        turned = turned.swapaxes(2, 3).reshape(-1, self.inputs)  # (9 O, C)
        for some, rows in chunks:
            some_g = pictures(self.g, self.out_side)[some]
            some_g *= pictures(self.out, self.out_side)[some] > 0
            if self.pool:
                y, some_dy = (pictures(strip, self.side)[some] for strip in (self.y, self.dy))
                unpool(some_g, y, some_dy, self.settings["ties"])
            shared = self.pool and self.settings["ties"] == "all"
            bias += (some_dy if shared else some_g).sum((0, 1, 2))
            for third, windows in self.windows(self.x, rows, share):
                weight += xp.matmul(windows.T, self.dy[rows][third::3], out=part)
            if self.input_gradient:
                self.correlate(self.dy, turned, rows, self.dx, share)
        return weight, bias


def quarters(y):
    """View the upper left, upper right, lower left and lower right pixels of all 2x2 windows."""
    return [y[:, i:-1:2, j:-1:2] for i in (0, 1) for j in (0, 1)]  # (N, H/2, W/2, C) each


def unpool(g, y, dy, ties):
    """Give each gradient to the pixel that was the maximum."""
    pixels = a, b, c, d = quarters(y)
    largest = xp.maximum(xp.maximum(a, b), xp.maximum(c, d))
    for hit, target in zip(winners(pixels, largest, ties), quarters(dy)):
        xp.multiply(g[:, :-1, :-1], hit, out=target)


class FromStrip(StripLayer):
    """From a strip to rows, in the order C, H, W."""

    def __init__(self, settings, side):
        super().__init__(settings)
        self.side = side

    def forward(self, x, training):
        """Drop the borders and move the channels first."""
        x = pictures(x, self.side)[:, :-1, :-1].transpose(0, 3, 1, 2)  # (N, C, H, W)
        return x.reshape(len(x), -1)  # (N, C H W)

    def backward(self, g):
        """Turn rows into a strip again."""
        g = g.reshape(len(g), -1, self.side, self.side)  # (N, C, H, W)
        strip = self.strip("dx", len(g), self.side, g.shape[1])
        pictures(strip, self.side)[:, :-1, :-1] = g.transpose(0, 2, 3, 1)
        return strip


def unfused(settings, network):
    """Yield the layers of the same network on plain images, one layer for each operation."""
    for layer in network:
        if isinstance(layer, ConvolutionReLU):
            yield Convolution(settings, layer.name, padding=1, input_gradient=layer.input_gradient)
            if layer.pool:
                yield MaxPool(settings)
            yield ReLU(settings)
        elif isinstance(layer, FromStrip):
            yield Flatten(settings)
        elif not isinstance(layer, ToStrip):
            yield layer
