"""The CNN in NumPy, forward and backward from scratch: the reference that the others are held to.

Idiom: a list of layers, each with a forward and a backward pass; convolution as matrix products.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: NCHW arrays from ``load``; inside, channels-last "strips" (see ``Convolution``).
Momentum: v *= momentum; v -= learning_rate * g; w += v, in place.
Surprise: the products take nearly all the time, so a convolution never copies its nine shifted
    images: three copies lie so that every 3x3 window is one run of memory, handed to BLAS as it is.
"""

import importlib
import os

import numpy as np

xp = importlib.import_module(os.environ.get("ARRAY_MODULE", "numpy"))


def configure(lane, threads, seed):
    """Record the settings; both lanes are the same code, and BLAS takes its threads from outside."""
    return {
        "device": "cpu" if xp is np else "cuda",
        "layout": "NCHW",
        "precision": "float32",  # or "float64", for the reference run
        "threads": threads,
        "seed": seed,
        "chunk_images": 4 if xp is np else 64,  # what a convolution works on at a time
        "not_in_force": [],
    }


def load(images, labels, settings):
    """Images (n, 3, 32, 32) in the run's precision, labels as integers; both stay NumPy arrays."""
    return images.astype(settings["precision"], copy=False), labels


class Layer:
    """What layers have in common: no parameters unless they say so, and buffers used again."""

    def __init__(self, settings):
        self.settings, self.dtype = settings, settings["precision"]
        self.parameters, self.gradients, self.buffers = {}, {}, {}

    def buffer(self, name, *shape):
        """An array of ``shape``, the same one each time: fresh memory costs more than the maths.

        It is zeros when new, and what is never written stays so.
        """
        if name not in self.buffers or self.buffers[name].shape != shape:
            self.buffers[name] = xp.zeros(shape, self.dtype)
        return self.buffers[name]

    def strip(self, name, n, side, channels):
        """A buffer for n images in a row, in which every image has a zero for each neighbour.

        One zero column right of each image is also the next line's left border, and one zero row
        below it the next image's upper border; the ends of the strip have the same to spare.
        """
        return self.buffer(name, n * (side + 1) ** 2 + 2 * (side + 2), channels)


def pictures(strip, side):
    """A strip seen as images, with their zero row and column."""
    return strip[side + 2 : -side - 2].reshape(-1, side + 1, side + 1, strip.shape[1])


def quarters(y):
    """The four pixels of every 2x2 window, in row-major order, as strided views."""
    return [y[:, i:-1:2, j:-1:2] for i in (0, 1) for j in (0, 1)]  # (N, H/2, W/2, C) each


class Strip(Layer):
    """NCHW images to a channels-last strip."""

    def forward(self, x, training):
        n, channels, side, _ = x.shape
        strip = self.strip("out", n, side, channels)
        pictures(strip, side)[:, :-1, :-1] = x.transpose(0, 2, 3, 1)
        return strip  # (N (H+1) (W+1) + ends, C)


class Convolution(Layer):
    """3x3 convolution, a 2x2 max-pool where asked for, bias and ReLU; from strip to strip.

    Bias and ReLU commute with max-pooling and come after it: a quarter of the work. The layer goes
    through the batch a few images at a time, so that what one line wrote the next finds in cache.
    """

    def __init__(self, name, inputs, outputs, side, pool, settings):
        super().__init__(settings)
        self.name, self.inputs, self.outputs, self.side, self.pool = name, inputs, outputs, side, pool

    def put(self, weights):
        """Take the canonical weights; (out, in, y, x) turns into the (x, y, in, out) of windows."""
        weight = xp.asarray(weights[self.name + ".weight"], self.dtype)  # (O, C, 3, 3)
        bias = xp.asarray(weights[self.name + ".bias"], self.dtype)
        self.weight, self.bias = weight.T.reshape(-1, self.outputs).copy(), bias.copy()  # (9C, O)
        self.parameters = {"weight": self.weight, "bias": self.bias}
        self.gradients = {"weight": xp.zeros_like(self.weight), "bias": xp.zeros_like(self.bias)}

    def canonical(self):
        weight = self.weight.reshape(3, 3, self.inputs, self.outputs).T  # (O, C, 3, 3)
        return {self.name + ".weight": weight, self.name + ".bias": self.bias}

    def chunks(self, n):
        """Slices of images, and the slices of a strip's rows that hold them."""
        area, end, step = (self.side + 1) ** 2, self.side + 2, self.settings["chunk_images"]
        for first in range(0, n, step):
            last = min(first + step, n)
            yield slice(first, last), slice(end + first * area, end + last * area)

    def windows(self, x, rows):
        """The 3x3 windows around rows of strip x, as three matrices, of every third row each.

        Beside each pixel we lay its upper and lower neighbour. Then a window is three successive
        rows, 9C numbers without a gap, and the windows three rows apart make a plain matrix.
        """
        count, channels, width = rows.stop - rows.start, x.shape[1], self.side + 1
        most = self.settings["chunk_images"] * width**2 + 2
        columns = self.buffer("columns %d" % channels, most, 3, channels)
        for i, shift in enumerate((-width, 0, width)):
            columns[: count + 2, i] = x[rows.start + shift - 1 : rows.stop + shift + 1]
        for third in range(3):
            size = 3 * ((count - third + 2) // 3)
            yield third, columns[third : third + size].reshape(size // 3, 9 * channels)

    def convolve(self, x, weight, rows, out):
        """Cross-correlate these rows of strip x, into the same rows of strip out."""
        for third, windows in self.windows(x, rows):
            xp.matmul(windows, weight, out=out[rows][third::3])

    def forward(self, x, training):
        side = self.side
        n = len(pictures(x, side))
        y = out = self.strip("y", n, side, self.outputs)
        if self.pool:
            out = self.strip("out", n, side // 2, self.outputs)
        for some, rows in self.chunks(n):
            self.convolve(x, self.weight, rows, y)
            some_y = pictures(y, side)[some]
            some_out = some_y
            if self.pool:
                some_out = pictures(out, side // 2)[some][:, :-1, :-1]
                a, b, c, d = quarters(some_y)
                xp.maximum(xp.maximum(a, b), xp.maximum(c, d), out=some_out)
            some_out += self.bias
            xp.maximum(some_out, 0, out=some_out)
            if not self.pool:
                some_out[:, -1] = some_out[:, :, -1] = 0  # the borders again
        self.x, self.y, self.out = x, y, out
        return out

    def backward(self, g, input_gradient=True):
        side, n = self.side, len(pictures(self.x, self.side))
        dy = self.strip("dy", n, side, self.outputs) if self.pool else g
        dx = self.strip("dx", n, side, self.inputs) if input_gradient else None
        dw, db = self.gradients["weight"], self.gradients["bias"]
        dw[:] = db[:] = 0
        turned = self.weight.reshape(3, 3, self.inputs, self.outputs)[::-1, ::-1]
        turned = turned.swapaxes(2, 3).reshape(-1, self.inputs)  # (9 O, C)
        out_side = side // 2 if self.pool else side
        part = self.buffer("part", *dw.shape)
        for some, rows in self.chunks(n):
            some_g = pictures(g, out_side)[some]
            some_g *= pictures(self.out, out_side)[some] > 0  # ReLU; makes the borders zero too
            db += some_g.sum((0, 1, 2))
            if self.pool:
                parts = quarters(pictures(self.y, side)[some])
                largest = xp.maximum(xp.maximum(*parts[:2]), xp.maximum(*parts[2:]))
                free = xp.ones(largest.shape, bool)
                for quarter, target in zip(parts, quarters(pictures(dy, side)[some])):
                    hit = (quarter == largest) & free  # of equals, the first
                    free ^= hit
                    xp.multiply(some_g[:, :-1, :-1], hit, out=target)
            for third, windows in self.windows(self.x, rows):
                dw += xp.matmul(windows.T, dy[rows][third::3], out=part)
            if input_gradient:
                self.convolve(dy, turned, rows, dx)
        return dx


class Dropout(Layer):
    """Zero a fraction of the numbers and scale up the rest, in training only; in place."""

    def __init__(self, rate, random, settings):
        super().__init__(settings)
        self.rate, self.random = rate, random

    def forward(self, x, training):
        self.mask = None
        if training and self.rate:
            self.mask = (self.random.random_sample(x.shape) >= self.rate).astype(self.dtype)
            self.mask /= 1 - self.rate
            x *= self.mask
        return x

    def backward(self, g):
        if self.mask is not None:
            g *= self.mask
        return g


class Flatten(Layer):
    """A strip to rows, in the order channels, height, width."""

    def __init__(self, side, settings):
        super().__init__(settings)
        self.side = side

    def forward(self, x, training):
        inner = pictures(x, self.side)[:, :-1, :-1]  # (N, H, W, C)
        return inner.transpose(0, 3, 1, 2).reshape(len(inner), -1)  # (N, CHW)

    def backward(self, g):
        g = g.reshape(len(g), -1, self.side, self.side)  # (N, C, H, W)
        strip = self.strip("dx", len(g), self.side, g.shape[1])
        pictures(strip, self.side)[:, :-1, :-1] = g.transpose(0, 2, 3, 1)
        return strip


class Dense(Layer):
    """A matrix product and a bias."""

    def __init__(self, name, settings):
        super().__init__(settings)
        self.name = name

    def put(self, weights):
        """Take the canonical weights as they are."""
        self.weight = xp.array(weights[self.name + ".weight"], self.dtype)  # (out, in)
        self.bias = xp.array(weights[self.name + ".bias"], self.dtype)
        self.parameters = {"weight": self.weight, "bias": self.bias}
        self.gradients = {"weight": xp.zeros_like(self.weight), "bias": xp.zeros_like(self.bias)}

    def canonical(self):
        return {self.name + ".weight": self.weight, self.name + ".bias": self.bias}

    def forward(self, x, training):
        self.x = x
        return xp.matmul(x, self.weight.T) + self.bias  # (N, out)

    def backward(self, g):
        xp.matmul(g.T, self.x, out=self.gradients["weight"])
        self.gradients["bias"][:] = g.sum(0)
        return xp.matmul(g, self.weight)  # (N, in)


class ReLU(Layer):
    """max(x, 0); the gradient at 0 is 0."""

    def forward(self, x, training):
        self.out = xp.maximum(x, 0)
        return self.out

    def backward(self, g):
        return g * (self.out > 0)


def symbol(settings, hp):
    """The layers, in order."""
    random = xp.random.RandomState(settings["seed"])
    return [
        Strip(settings),  # (N, 3, 32, 32) to strips
        Convolution("conv1", 3, 50, 32, False, settings),
        Convolution("conv2", 50, 50, 32, True, settings),  # (N, 50, 16, 16)
        Dropout(hp.dropout[0], random, settings),
        Convolution("conv3", 50, 100, 16, False, settings),
        Convolution("conv4", 100, 100, 16, True, settings),  # (N, 100, 8, 8)
        Dropout(hp.dropout[1], random, settings),
        Flatten(8, settings),  # (N, 6400)
        Dense("dense1", settings),  # (N, 512)
        ReLU(settings),
        Dropout(hp.dropout[2], random, settings),
        Dense("dense2", settings),  # (N, 10)
    ]


def cross_entropy(scores, labels):
    """Softmax cross-entropy, mean over the batch, and its gradient."""
    n = xp.arange(len(labels))
    scores = scores - scores.max(1, keepdims=True)  # or exp overflows
    logs = scores - xp.log(xp.exp(scores).sum(1, keepdims=True))
    g = xp.exp(logs)
    g[n, labels] -= 1
    return -logs[n, labels].mean(), g / len(labels)  # (), (N, 10)


class SGD:
    """Stochastic gradient descent with classical momentum."""

    def __init__(self, layers, hp):
        self.layers, self.hp = layers, hp
        self.velocities = [
            {name: xp.zeros_like(w) for name, w in layer.parameters.items()} for layer in layers
        ]

    def update(self):
        for layer, velocities in zip(self.layers, self.velocities):
            for name, w in layer.parameters.items():
                v, g = velocities[name], layer.gradients[name]
                g *= self.hp.learning_rate
                v *= self.hp.momentum
                v -= g
                w += v


def loss(network, settings, hp, weights):
    """Put the weights in place; the model is the layers and the optimiser."""
    for layer in network:
        if hasattr(layer, "put"):
            layer.put(weights)
    return network, SGD(network, hp)


def train(model, batches):
    """Yield the loss of each step of one pass over the batches."""
    layers, optimiser = model
    for x, y in batches:
        scores = xp.asarray(x)
        for layer in layers:
            scores = layer.forward(scores, True)
        value, g = cross_entropy(scores, xp.asarray(y))
        for layer in layers[:1:-1]:
            g = layer.backward(g)
        # Nobody needs the gradient of the images: the first convolution computes weights' alone.
        layers[1].backward(g, input_gradient=False)
        optimiser.update()
        yield value


def predict(model, x):
    """Scores (n, 10) of every row, as a NumPy array."""
    layers, _ = model
    scores = []
    for first in range(0, len(x), 64):
        part = xp.asarray(x[first : first + 64])
        for layer in layers:
            part = layer.forward(part, False)
        scores.append(to_numpy(part))
    return np.concatenate(scores)


def evaluate(scores, labels):
    """The fraction of rows whose largest score is their label's."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """The canonical weights as NumPy arrays, in the run's precision."""
    found = {}
    for layer in model[0]:
        if layer.parameters:
            found.update(layer.canonical())
    return {name: np.array(to_numpy(w), order="C") for name, w in found.items()}


def to_numpy(array):
    """Bring an array back from CuPy's device; NumPy's are there already."""
    return array if xp is np else xp.asnumpy(array)


def wait(model):
    """NumPy has finished when it returns; CuPy's stream is waited for."""
    if xp is not np:
        xp.cuda.Stream.null.synchronize()
