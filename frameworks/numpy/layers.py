"""What the NumPy models are built from: layers, a loss, optimisers.

A network is a list of layers. ``x = layer.forward(x, training)`` goes through the list,
``g = layer.backward(g)`` back; then each layer with a name holds its gradients, and the optimiser
moves its parameters. With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.

Images inside a network lie in channels-last "strips" that share their zero borders, so that a
convolution needs no copy of its nine shifted images: with three of them side by side, every 3x3
window is one run of memory that BLAS takes as it is (see ``Convolution.windows``).
"""

import importlib
import os

import numpy as np

xp = importlib.import_module(os.environ.get("ARRAY_MODULE", "numpy"))


class Layer:
    """What layers share: parameters, if any, and buffers that are reused in each step."""

    parameters = gradients = ()

    def __init__(self, settings, name=None):
        self.settings, self.dtype, self.name = settings, settings["precision"], name
        self.buffers = {}

    def put(self, weight, bias):
        """Copy the initial weights, given in this layer's own layout."""
        self.parameters = [xp.array(w, self.dtype, order="C") for w in (weight, bias)]
        self.gradients = [xp.zeros_like(w) for w in self.parameters]

    def canonical(self):
        """Weight and bias in the canonical layout."""
        return self.parameters

    def buffer(self, name, *shape):
        """A reusable buffer, zeroed on first use: fresh memory costs more than the arithmetic."""
        if name not in self.buffers or self.buffers[name].shape != shape:
            self.buffers[name] = xp.zeros(shape, self.dtype)
        return self.buffers[name]

    def strip(self, name, n, side, channels):
        """A buffer for n images one after the other, whose pixels all have eight neighbours.

        The zero column right of an image is also the left border of its next line, and the zero
        row below it the upper border of the next image. Both ends have a row and a pixel more.
        """
        return self.buffer(name, n * (side + 1) ** 2 + 2 * (side + 2), channels)


def put(network, weights):
    """Copy canonical weights into the layers that have a name."""
    for layer in network:
        if layer.name:
            layer.put(weights[layer.name + ".weight"], weights[layer.name + ".bias"])


def pictures(strip, side):
    """View a strip as images with their zero column and row."""
    return strip[side + 2 : -side - 2].reshape(-1, side + 1, side + 1, strip.shape[1])


class ToStrip(Layer):
    """From images (N, C, H, W) to a strip."""

    def forward(self, x, training):
        """Move the channels last and add the borders."""
        n, channels, side, _ = x.shape
        strip = self.strip("out", n, side, channels)
        pictures(strip, side)[:, :-1, :-1] = x.transpose(0, 2, 3, 1)
        return strip  # (N (H+1) (W+1) + ends, C)

    def backward(self, g):
        """Do nothing: no one needs the gradient of the images."""


class Convolution(Layer):
    """3x3 cross-correlation, bias, ReLU and perhaps a 2x2 max-pool, from strip to strip.

    Pooling comes before bias and ReLU, which then have a quarter of the work: the maximum commutes
    with both. A few images at a time, so that what one line writes the next one finds in cache.
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

    def chunks(self, n):
        """Yield a few images at a time: which of the n they are, and their rows in a strip."""
        start, area, step = self.side + 2, (self.side + 1) ** 2, self.settings["chunk_images"]
        for first in range(0, n, step):
            last = min(first + step, n)
            yield slice(first, last), slice(start + first * area, start + last * area)

    def windows(self, x, rows):
        """Yield the 3x3 windows around rows of strip x, as three matrices of every third window.

        Each pixel goes between its upper and its lower neighbour. A window is then three
        successive rows, 9 C numbers without a gap, and the window three pixels on is the next
        row of a plain matrix.
        """
        count, channels, width = rows.stop - rows.start, x.shape[1], self.side + 1
        most = self.settings["chunk_images"] * width**2
        columns = self.buffer("columns of %d" % channels, most + 2, 3, channels)
        for i, shift in enumerate((-width, 0, width)):
            columns[: count + 2, i] = x[rows.start - 1 + shift : rows.stop + 1 + shift]
        for third in range(3):
            size = (count - third + 2) // 3
            yield third, columns[third : third + 3 * size].reshape(size, 9 * channels)

    def correlate(self, x, weight, rows, out):
        """Cross-correlate rows of strip x, into the same rows of strip out."""
        for third, windows in self.windows(x, rows):
            xp.matmul(windows, weight, out=out[rows][third::3])

    def forward(self, x, training):
        """Keep x and what is to be pooled for the way back."""
        n = len(pictures(x, self.side))
        weight, bias = self.parameters
        self.x, self.y = x, self.strip("y", n, self.side, self.outputs)
        self.out = self.strip("out", n, self.out_side, self.outputs) if self.pool else self.y
        for some, rows in self.chunks(n):
            self.correlate(x, weight, rows, self.y)
            out = pictures(self.out, self.out_side)[some]  # (n, H+1, W+1, O)
            inner = out[:, :-1, :-1]
            if self.pool:
                a, b, c, d = quarters(pictures(self.y, self.side)[some])
                xp.maximum(xp.maximum(a, b), xp.maximum(c, d), out=inner)  # (n, H/2, W/2, O)
            inner += bias
            xp.maximum(inner, 0, out=inner)
            out[:, -1] = out[:, :, -1] = 0  # what was correlated around a border
        return self.out

    def before_relu(self, x):
        """The values (N, H, W, O) that pool and ReLU will see; for the proof, not for training."""
        n = len(pictures(x, self.side))
        y = self.strip("before relu", n, self.side, self.outputs)
        for _, rows in self.chunks(n):
            self.correlate(x, self.parameters[0], rows, y)
        return pictures(y, self.side)[:, :-1, :-1] + self.parameters[1]

    def backward(self, g):
        """Sum the gradients of weight and bias; return that of x, where it is needed."""
        n = len(pictures(self.x, self.side))
        weight, bias = self.gradients
        weight[:] = bias[:] = 0
        part = self.buffer("part", *weight.shape)
        # Back through a correlation is a correlation by the kernel turned by half a turn.
        turned = self.parameters[0].reshape(3, 3, self.inputs, self.outputs)[::-1, ::-1]
        turned = turned.swapaxes(2, 3).reshape(-1, self.inputs)  # (9 O, C)
        dy = self.strip("dy", n, self.side, self.outputs) if self.pool else g
        dx = self.strip("dx", n, self.side, self.inputs) if self.input_gradient else None
        for some, rows in self.chunks(n):
            some_g = pictures(g, self.out_side)[some]
            some_g *= pictures(self.out, self.out_side)[some] > 0  # and the borders to zero
            if self.pool:
                y, some_dy = (pictures(strip, self.side)[some] for strip in (self.y, dy))
                unpool(some_g, y, some_dy, self.settings["ties"])
            shared = self.pool and self.settings["ties"] == "all"
            bias += (some_dy if shared else some_g).sum((0, 1, 2))
            for third, windows in self.windows(self.x, rows):
                weight += xp.matmul(windows.T, dy[rows][third::3], out=part)
            if self.input_gradient:
                self.correlate(dy, turned, rows, dx)
        return dx


def quarters(y):
    """View the upper left, upper right, lower left and lower right pixels of all 2x2 windows."""
    return [y[:, i:-1:2, j:-1:2] for i in (0, 1) for j in (0, 1)]  # (N, H/2, W/2, C) each


def unpool(g, y, dy, ties):
    """Give each gradient of a maximum to the pixel that was it; of equal ones to the first.

    With ``ties="all"`` every one of them gets it, as in Theano and Caffe2 on a CPU. Equal then
    means equal up to rounding, because BLAS may sum two equal windows in different orders.
    """
    a, b, c, d = quarters(y)
    largest = xp.maximum(xp.maximum(a, b), xp.maximum(c, d))
    free = xp.ones(largest.shape, bool)
    if ties == "all":
        largest -= 4 * np.finfo(y.dtype).eps * xp.abs(largest)
    for pixel, target in zip((a, b, c, d), quarters(dy)):
        hit = pixel >= largest
        if ties == "one":
            hit &= free
            free ^= hit
        xp.multiply(g[:, :-1, :-1], hit, out=target)


class Dropout(Layer):
    """Zero a fraction of the numbers and scale up the rest, in training only; in place."""

    def __init__(self, settings, rate, random):
        super().__init__(settings)
        self.rate, self.random = rate, random

    def forward(self, x, training):
        """Draw a mask where there is something to drop."""
        self.kept = None
        if training and self.rate > 0:
            self.kept = self.random.random_sample(x.shape) >= self.rate
        return self.backward(x)

    def backward(self, g):
        """Apply the mask."""
        if self.kept is not None:
            g *= self.kept
            g /= 1 - self.rate
        return g


class Flatten(Layer):
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


class Flat(Layer):
    """From images (N, C, H, W) to rows, where no convolution comes first."""

    def forward(self, x, training):
        """Put the pixels of an image in a row, in the order C, H, W."""
        return x.reshape(len(x), -1)  # (N, C H W)

    def backward(self, g):
        """Do nothing: no one needs the gradient of the images."""


class Dense(Layer):
    """A matrix product and a bias."""

    def forward(self, x, training):
        """Keep x for the way back."""
        self.x = x
        weight, bias = self.parameters
        return xp.matmul(x, weight.T) + bias  # (N, out)

    def backward(self, g):
        """Compute the gradients of weight and bias; return that of x."""
        weight, bias = self.gradients
        xp.matmul(g.T, self.x, out=weight)
        bias[:] = g.sum(0)
        return xp.matmul(g, self.parameters[0])  # (N, in)


class ReLU(Layer):
    """The larger of x and 0; at 0 the gradient is 0."""

    def forward(self, x, training):
        """Keep the result for the way back."""
        self.out = xp.maximum(x, 0)
        return self.out

    def backward(self, g):
        """Pass what was above 0."""
        return g * (self.out > 0)


def cross_entropy(scores, labels):
    """Softmax cross-entropy, mean over the batch, and its gradient."""
    rows = xp.arange(len(labels))
    logs = scores - scores.max(1, keepdims=True)  # the largest is 0, so that exp cannot overflow
    logs -= xp.log(xp.exp(logs).sum(1, keepdims=True))  # (N, 10)
    g = xp.exp(logs)
    g[rows, labels] -= 1
    g /= len(labels)
    return -logs[rows, labels].mean(), g


class Momentum:
    """Gradient descent with classical momentum, for all parameters of a network."""

    def __init__(self, network, hp):
        self.hp = hp
        self.parameters = [w for layer in network for w in layer.parameters]
        self.gradients = [g for layer in network for g in layer.gradients]
        self.velocity = [xp.zeros_like(w) for w in self.parameters]

    def step(self):
        """Move every parameter, in place."""
        for w, g, v in zip(self.parameters, self.gradients, self.velocity):
            g *= self.hp.learning_rate
            v *= self.hp.momentum
            v -= g
            w += v


class Adam:
    """Adam (Kingma & Ba, 2015), bias-corrected, epsilon beside the root."""

    def __init__(self, network, hp):
        self.hp, self.steps = hp, 0
        self.parameters = [w for layer in network for w in layer.parameters]
        self.gradients = [g for layer in network for g in layer.gradients]
        self.mean = [xp.zeros_like(w) for w in self.parameters]
        self.square = [xp.zeros_like(w) for w in self.parameters]

    def step(self):
        """Move every parameter, in place."""
        hp = self.hp
        self.steps += 1
        for w, g, m, v in zip(self.parameters, self.gradients, self.mean, self.square):
            m += (1 - hp.beta1) * (g - m)
            v += (1 - hp.beta2) * (g * g - v)
            mean = m / (1 - hp.beta1**self.steps)
            w -= hp.learning_rate * mean / (xp.sqrt(v / (1 - hp.beta2**self.steps)) + hp.epsilon)


def to_numpy(array):
    """Copy from CuPy's device; a NumPy array is there already."""
    return array if xp is np else xp.asnumpy(array)
