"""The layers and losses of the NumPy models.

A network is a list of layers. ``x = layer.forward(x, training)`` runs forward through the list, and
``g = layer.backward(g)`` back. Then each layer with a name holds its gradients, and the optimiser
moves its parameters. With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
"""

import importlib
import os

import numpy as np

xp = importlib.import_module(os.environ.get("ARRAY_MODULE", "numpy"))

EQUAL = 1e-12  # pixels closer than this are equal: float64's rounding


class Layer:
    """The base of all layers: parameters, if any, and buffers that are reused in each step."""

    parameters = gradients = inner = ()
    kinds = ("weight", "bias")

    def __init__(self, settings, name=None):
        self.settings, self.dtype, self.name = settings, settings["precision"], name
        self.buffers = {}

    def put(self, *weights):
        """Copy the initial weights, in this layer's own layout and in the order of its kinds."""
        self.parameters = [xp.array(w, self.dtype, order="C") for w in weights]
        self.gradients = [xp.zeros_like(w) for w in self.parameters]

    def canonical(self):
        """The weights in the canonical layout."""
        return self.parameters

    def buffer(self, name, *shape):
        """A reusable buffer, zeroed on first use: fresh memory costs more than the arithmetic."""
        if name not in self.buffers or self.buffers[name].shape != shape:
            self.buffers[name] = xp.zeros(shape, self.dtype)
        return self.buffers[name]

    def kinks(self, x, training):
        """For the proof: yield (values, their distances from where the gradient jumps)."""
        return ()


def every(network):
    """All layers of a network, including the ones inside other layers."""
    for layer in network:
        yield layer
        yield from every(layer.inner)


def put(network, weights):
    """Copy canonical weights into the layers that have a name."""
    for layer in every(network):
        if layer.name:
            layer.put(*(weights["%s.%s" % (layer.name, kind)] for kind in layer.kinds))


def product(x, matrix):
    """Rows x (..., in) times a matrix (in, out): one product, however many axes x has."""
    return xp.matmul(x.reshape(-1, x.shape[-1]), matrix).reshape(x.shape[:-1] + matrix.shape[1:])


def product_gradient(g, x, out):
    """Put the gradient of a weight (out, in) into ``out``: g (..., out), x (..., in)."""
    xp.matmul(g.reshape(-1, g.shape[-1]).T, x.reshape(-1, x.shape[-1]), out=out)


class Dropout(Layer):
    """Zero a fraction of the values and scale up the rest; only in training, and in place."""

    def __init__(self, settings, rate, random):
        super().__init__(settings)
        self.rate, self.random = rate, random

    def forward(self, x, training):
        """Draw a mask if there is something to drop."""
        self.kept = None
        if training and self.rate > 0:
            self.kept = self.random.random_sample(x.shape) >= self.rate
        return self.masked(x)

    def backward(self, g):
        """Drop and scale the same values of the gradient."""
        return self.masked(g)

    def masked(self, x):
        """Apply the mask, in place."""
        if self.kept is not None:
            x *= self.kept
            x /= 1 - self.rate
        return x


class Flatten(Layer):
    """From images to rows, in the order C, H, W."""

    def forward(self, x, training):
        """Put the pixels of an image in a row."""
        self.shape = x.shape
        return x.reshape(len(x), -1)  # (N, C H W)

    def backward(self, g):
        """Turn rows into images again; None if no gradient is needed."""
        return None if g is None else g.reshape(self.shape)


class Dense(Layer):
    """A matrix product and, unless it has none, a bias, on the last axis."""

    def __init__(self, settings, name, bias=True, input_gradient=True):
        super().__init__(settings, name)
        self.input_gradient = input_gradient
        self.kinds = ("weight", "bias") if bias else ("weight",)

    def forward(self, x, training):
        """Keep x for the backward pass."""
        self.x = x
        weight, *bias = self.parameters
        y = product(x, weight.T)
        for b in bias:
            y += b
        return y  # (N, out), or (N, T, out) of sequences

    def backward(self, g):
        """Compute the gradients of weight and bias; return that of x if it is needed."""
        weight, *bias = self.gradients
        product_gradient(g, self.x, weight)
        for b in bias:
            b[:] = g.reshape(-1, g.shape[-1]).sum(0)
        return product(g, self.parameters[0]) if self.input_gradient else None  # as x


class Convolution(Layer):
    """Cross-correlation and, unless it has none, a bias, on images (N, C, H, W)."""

    def __init__(self, settings, name, padding=0, stride=1, bias=True, input_gradient=True):
        super().__init__(settings, name)
        self.padding, self.stride, self.input_gradient = padding, stride, input_gradient
        self.kinds = ("weight", "bias") if bias else ("weight",)

    def forward(self, x, training):
        """Copy every window into a row and multiply the rows by the kernels."""
        weight, *bias = self.parameters
        kernels, _, *size = weight.shape
        if self.padding:
            around = (self.padding, self.padding)
            x = xp.pad(x, ((0, 0), (0, 0), around, around), "constant")
        self.shape = x.shape
        windows = xp.stack(list(views(x, size, self.stride)), 2)
        n, _, _, height, width = windows.shape  # (N, C, kh kw, H', W')
        self.rows = windows.transpose(0, 3, 4, 1, 2).reshape(n * height * width, -1)
        y = xp.matmul(self.rows, weight.reshape(kernels, -1).T)
        for b in bias:
            y += b
        return y.reshape(n, height, width, kernels).transpose(0, 3, 1, 2)  # (N, O, H', W')

    def backward(self, g):
        """Compute the gradients of weight and bias; return that of x if it is needed."""
        weight, *bias = self.gradients
        n, kernels, height, width = g.shape
        g = g.transpose(0, 2, 3, 1).reshape(-1, kernels)
        weight[:] = xp.matmul(g.T, self.rows).reshape(weight.shape)
        for b in bias:
            b[:] = g.sum(0)
        if not self.input_gradient:
            return None
        windows = xp.matmul(g, self.parameters[0].reshape(kernels, -1))
        windows = windows.reshape(n, height, width, weight.shape[1], -1).transpose(4, 0, 3, 1, 2)
        dx = xp.zeros(self.shape, self.dtype)
        for window, view in zip(windows, views(dx, weight.shape[2:], self.stride)):
            view += window
        inner = slice(self.padding, -self.padding or None)
        return dx[:, :, inner, inner]  # (N, C, H, W)


class MaxPool(Layer):
    """The largest pixel of each window of images (N, C, H, W); no padding or partial windows."""

    def __init__(self, settings, size=2, stride=2):
        super().__init__(settings)
        self.size, self.stride = (size, size), stride

    def forward(self, x, training):
        """Keep x for the backward pass."""
        self.x = x
        windows = list(views(x, self.size, self.stride))
        self.out = windows[0]
        for window in windows[1:]:
            self.out = xp.maximum(self.out, window)
        return self.out  # (N, C, H', W')

    def backward(self, g):
        """Give each gradient to the pixel that was the maximum."""
        dx = xp.zeros_like(self.x)
        pixels = views(self.x, self.size, self.stride)
        hits = winners(pixels, self.out, self.settings["ties"])
        for hit, target in zip(hits, views(dx, self.size, self.stride)):
            target += g * hit
        return dx

    def kinks(self, x, training):
        """The gradient jumps where another pixel becomes the largest."""
        windows = xp.stack(list(views(x, self.size, self.stride)))
        yield largest_and_gap(windows)


def views(x, size, stride):
    """For each position in a window, yield a view of the pixels there (N, C, H', W')."""
    height = (x.shape[2] - size[0]) // stride + 1
    width = (x.shape[3] - size[1]) // stride + 1
    for row in range(size[0]):
        for column in range(size[1]):
            rows = slice(row, row + stride * (height - 1) + 1, stride)
            columns = slice(column, column + stride * (width - 1) + 1, stride)
            yield x[:, :, rows, columns]


def winners(pixels, largest, ties):
    """For each pixel of a window, its share of the gradient of the maximum.

    With ``ties`` "one", the first of equal pixels gets all of it. With "all", each of them does, as
    in Theano and Caffe2 on a CPU. With "shared", each gets an equal part, as in frameworks whose
    pool is a maximum along axes. For "all" and "shared", equal means equal up to rounding, because
    BLAS may sum two equal windows in different orders.
    """
    if ties != "one":
        largest = largest - 4 * np.finfo(largest.dtype).eps * xp.abs(largest)
    hits = [pixel >= largest for pixel in pixels]
    if ties == "shared":
        share = (1 / sum(hit.astype(int) for hit in hits)).astype(largest.dtype)
        hits = [share * hit for hit in hits]
    if ties == "one":
        free = xp.ones(largest.shape, bool)
        for hit in hits:
            hit &= free
            free ^= hit
    return hits


def largest_and_gap(windows):
    """The largest pixel of each window (axis 0), and its lead over the next largest."""
    windows = np.sort(to_numpy(windows), 0)
    gaps = windows[-1] - windows[:-1]
    return windows[-1], np.where(gaps < EQUAL, np.inf, gaps).min(0)


class ReLU(Layer):
    """The larger of x and 0; at 0 the gradient is 0."""

    def forward(self, x, training):
        """Keep the result for the backward pass."""
        self.out = xp.maximum(x, 0)
        return self.out

    def backward(self, g):
        """Pass the gradient if the input was above 0."""
        return g * (self.out > 0)

    def kinks(self, x, training):
        """The gradient jumps where x is 0."""
        yield x, np.abs(x)


class BatchNorm(Layer):
    """Normalise each channel of images (N, C, H, W) to mean 0 and variance 1; scale and shift it.

    Training uses the batch's mean and its variance, divided by n. Prediction uses running values:
    running <- 0.9 running + 0.1 batch, with the variance divided by n - 1, unless the setting
    ``running_variance`` differs. With ``variance`` "squares", the variance comes from the mean of
    the squares, as in some frameworks; in float32 that loses digits.
    """

    kinds = ("weight", "bias", "mean", "variance")
    kept, epsilon = 0.9, 1e-5
    # Subtracted from n. Two workers with half a batch each divide by n / 2 - 1.
    off = {"biased": 0, "unbiased": 1, "unbiased halves": 2}

    def put(self, weight, bias, mean, variance):
        """Keep the running mean and variance apart: no optimiser moves them."""
        super().put(weight, bias)
        self.running = [xp.array(w, self.dtype) for w in (mean, variance)]

    def canonical(self):
        """Weight, bias, running mean and running variance."""
        return self.parameters + self.running

    def forward(self, x, training):
        """Keep the normalised images for the backward pass."""
        weight, bias = (w[:, None, None] for w in self.parameters)
        mean, variance = self.running
        if training:
            n = x.size // x.shape[1]
            batch_mean = x.mean((0, 2, 3))
            if self.settings["variance"] == "squares":
                batch_variance = (x**2).mean((0, 2, 3)) - batch_mean**2
            else:
                batch_variance = ((x - batch_mean[:, None, None]) ** 2).mean((0, 2, 3))
            correction = n / (n - self.off[self.settings["running_variance"]])
            mean += (1 - self.kept) * (batch_mean - mean)
            variance += (1 - self.kept) * (correction * batch_variance - variance)
            mean, variance = batch_mean, batch_variance
        self.scale = 1 / xp.sqrt(variance + self.epsilon)[:, None, None]
        self.normal = (x - mean[:, None, None]) * self.scale
        return self.normal * weight + bias

    def backward(self, g):
        """Compute the gradients of weight and bias; return x's, also through mean and variance."""
        weight, bias = self.gradients
        weight[:], bias[:] = (g * self.normal).sum((0, 2, 3)), g.sum((0, 2, 3))
        n = g.size // g.shape[1]
        through = (bias[:, None, None] + self.normal * weight[:, None, None]) / n
        return self.parameters[0][:, None, None] * self.scale * (g - through)


class LocalResponseNorm(Layer):
    """Divide each value of images (N, C, H, W) by (2 + 0.0001 s) ** 0.75.

    s sums the squares of five values: its own, and those at the same position in the two channels
    before and the two after, as far as these exist.
    """

    size, k, alpha = 5, 2, 1e-4

    def forward(self, x, training):
        """Keep the input and the divisor for the backward pass."""
        self.x = x
        self.base = self.k + self.alpha * self.around(x**2)
        root = xp.sqrt(self.base)
        self.divisor = root * xp.sqrt(root)  # faster than the power 3/4
        return x / self.divisor

    def backward(self, g):
        """Return the gradient of x: a value affects its own quotient and five divisors."""
        own = g / self.divisor
        return own - 1.5 * self.alpha * self.x * self.around(own * self.x / self.base)

    def around(self, x):
        """For each channel, the sum over the five channels around it."""
        reach = self.size // 2
        total = x.copy()
        for off in range(1, reach + 1):
            total[:, off:] += x[:, :-off]
            total[:, :-off] += x[:, off:]
        return total


class Residual(Layer):
    """Run a body of layers and a shortcut on the same images, and add the results."""

    def __init__(self, settings, body, shortcut=()):
        super().__init__(settings)
        self.body, self.shortcut = body, shortcut
        self.inner = list(body) + list(shortcut)

    def forward(self, x, training):
        """Run both."""
        y = x
        for layer in self.body:
            y = layer.forward(y, training)
        for layer in self.shortcut:
            x = layer.forward(x, training)
        return y + x

    def backward(self, g):
        """Run both backward, and add their gradients."""
        shortcut = g
        for layer in reversed(self.body):
            g = layer.backward(g)
        for layer in reversed(self.shortcut):
            shortcut = layer.backward(shortcut)
        return g + shortcut

    def kinks(self, x, training):
        """The kinks of the layers inside."""
        for part in (self.body, self.shortcut):
            y = x
            for layer in part:
                yield from layer.kinks(y, training)
                y = layer.forward(y, training)


class GlobalMean(Layer):
    """The mean of each channel of images (N, C, H, W)."""

    def forward(self, x, training):
        """Keep the shape for the backward pass."""
        self.shape = x.shape
        return x.mean((2, 3))  # (N, C)

    def backward(self, g):
        """Give each pixel its share."""
        _, _, height, width = self.shape
        return xp.broadcast_to(g[:, :, None, None] / (height * width), self.shape)


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):  # an infinite exp gives the right 0
        return 1 / (1 + xp.exp(-x))


class Sigmoid(Layer):
    """1 / (1 + exp(-x))."""

    def forward(self, x, training):
        """Keep the result for the backward pass."""
        self.out = sigmoid(x)
        return self.out

    def backward(self, g):
        """Multiply by the slope."""
        return g * self.out * (1 - self.out)


class LSTM(Layer):
    """Long short-term memory with a forget gate, on sequences (N, T, in).

    c = f c + i g and h = o tanh(c), where i, f, o are sigmoids of their quarters of W x + R h + b,
    and g is the tanh of its own. The gradient flows back within a chunk of steps, but not into the
    previous chunk: truncated back-propagation through time.
    """

    kinds = ("input.weight", "recurrent.weight", "bias")

    def __init__(self, settings, name, chunk):
        super().__init__(settings, name)
        self.chunk = chunk

    def forward(self, x, training, state=None):
        """Run the steps from ``state`` (h, c), or from zeros; keep the last state."""
        weight, recurrent, bias = self.parameters
        zeros = xp.zeros((len(x), recurrent.shape[1]), self.dtype)
        h, c = state or (zeros, zeros)
        self.steps, hs = [], []
        for t in range(x.shape[1]):
            a = xp.matmul(x[:, t], weight.T) + xp.matmul(h, recurrent.T) + bias  # (N, 4 units)
            i, f, g, o = xp.split(a, 4, 1)
            i, f, g, o = sigmoid(i), sigmoid(f), xp.tanh(g), sigmoid(o)
            self.steps.append((x[:, t], h, c, i, f, g, o))
            c = f * c + i * g
            h = o * xp.tanh(c)
            hs.append(h)
        self.state = h, c
        return xp.stack(hs, 1)  # (N, T, units)

    def backward(self, upper):
        """Compute the gradients of the weights, step by step; return that of the input."""
        weight, recurrent, _ = self.parameters
        for gradient in self.gradients:
            gradient[:] = 0
        dx, last = [], self.state[1]
        dh = dc = xp.zeros_like(last)
        for t in reversed(range(len(self.steps))):
            x, h, c, i, f, g, o = self.steps[t]
            if (t + 1) % self.chunk == 0:  # later steps belong to the next chunk
                dh = dc = xp.zeros_like(last)
            dh = dh + upper[:, t]
            squashed = xp.tanh(last)
            dc = dc + dh * o * (1 - squashed**2)
            parts = (
                dc * g * i * (1 - i),
                dc * c * f * (1 - f),
                dc * i * (1 - g**2),
                dh * squashed * o * (1 - o),
            )
            da = xp.concatenate(parts, 1)  # (N, 4 units)
            for gradient, part in zip(
                self.gradients, (xp.matmul(da.T, x), xp.matmul(da.T, h), da.sum(0))
            ):
                gradient += part
            dx.append(xp.matmul(da, weight))
            dh, dc, last = xp.matmul(da, recurrent), dc * f, c
        return xp.stack(dx[::-1], 1)  # (N, T, in)


class GRU(Layer):
    """Gated recurrent unit, on sequences (N, T, in), from a state of zeros.

    With the thirds of W x + b and of R h + d: reset r and update z are sigmoids of the sums of the
    first two; n = tanh(Wn x + bn + r (Rn h + dn)); h = (1 - z) n + z h.
    """

    kinds = ("input.weight", "recurrent.weight", "input.bias", "recurrent.bias")

    def forward(self, x, training):
        """Go through the steps; keep what the backward pass needs."""
        weight, recurrent, bias, recurrent_bias = self.parameters
        self.x, self.steps, hs = x, [], []
        from_input = product(x, weight.T) + bias  # (N, T, 3 units)
        h = xp.zeros((len(x), recurrent.shape[1]), self.dtype)
        for t in range(x.shape[1]):
            from_state = xp.matmul(h, recurrent.T) + recurrent_bias
            xr, xz, xn = xp.split(from_input[:, t], 3, 1)
            hr, hz, hn = xp.split(from_state, 3, 1)
            r, z = sigmoid(xr + hr), sigmoid(xz + hz)
            n = xp.tanh(xn + r * hn)
            self.steps.append((h, r, z, n, hn))
            h = (1 - z) * n + z * h
            hs.append(h)
        return xp.stack(hs, 1)  # (N, T, units)

    def backward(self, upper):
        """Compute the gradients of the weights, step by step; return that of the input."""
        weight, recurrent, _, _ = self.parameters
        by_weight, by_recurrent, by_bias, by_recurrent_bias = self.gradients
        by_recurrent[:] = by_recurrent_bias[:] = 0
        inputs, dh = [], 0
        for t in reversed(range(len(self.steps))):
            h, r, z, n, hn = self.steps[t]
            dh = dh + upper[:, t]
            dn = dh * (1 - z) * (1 - n**2)
            dz = dh * (h - n) * z * (1 - z)
            dr = dn * hn * r * (1 - r)
            state = xp.concatenate([dr, dz, dn * r], 1)  # (N, 3 units)
            by_recurrent += xp.matmul(state.T, h)
            by_recurrent_bias += state.sum(0)
            inputs.append(xp.concatenate([dr, dz, dn], 1))
            dh = dh * z + xp.matmul(state, recurrent)
        inputs = xp.stack(inputs[::-1], 1)  # (N, T, 3 units)
        product_gradient(inputs, self.x, by_weight)
        by_bias[:] = inputs.sum((0, 1))
        return product(inputs, weight)  # (N, T, in)


class LastStep(Layer):
    """The last step of sequences (N, T, features)."""

    def forward(self, x, training):
        """Keep the shape for the backward pass."""
        self.shape = x.shape
        return x[:, -1]

    def backward(self, g):
        """Only the last step has a gradient."""
        dx = xp.zeros(self.shape, self.dtype)
        dx[:, -1] = g
        return dx


def squared_error(values, targets):
    """Mean squared error over all values, and its gradient."""
    difference = values - targets
    return (difference**2).mean(), 2 * difference / difference.size


def joint_error(outputs, targets):
    """Mean squared distance of the visible joints of a batch, and its gradient.

    outputs: (N, 2 joints). targets: (N, joints, 3), x, y and whether the joint is visible.
    """
    points, visible = targets[..., :2], targets[..., 2:]
    difference = (outputs.reshape(points.shape) - points) * visible
    joints = visible.sum()
    return (difference**2).sum() / joints, (2 * difference / joints).reshape(outputs.shape)


def cross_entropy(scores, labels):
    """Softmax cross-entropy, mean over the batch, and its gradient."""
    rows = xp.arange(len(labels))
    logs = scores - scores.max(1, keepdims=True)  # the largest is 0, so exp cannot overflow
    logs -= xp.log(xp.exp(logs).sum(1, keepdims=True))  # (N, 10)
    g = xp.exp(logs)
    g[rows, labels] -= 1
    g /= len(labels)
    return -logs[rows, labels].mean(), g


def to_numpy(array):
    """Copy from CuPy's device; a NumPy array needs no copy."""
    return array if xp is np else xp.asnumpy(array)
