"""What the probes need of a model's task: observations and targets that make a property visible."""

import numpy as np

from common.data import batches, figures, synthetic
from common.networks.model import CLASSES, JOINTS, VALUES

BRIGHT = np.float32(64)  # makes activations and gradients large enough for what clips them
FAR = np.float32(
    2.0**58
)  # of targets: what is left of their gradient below a ``fixed_output`` layer


def of(model):
    """The task of ``model``, as the proof sees it."""
    known = {CLASSES: Classes, VALUES: Values, JOINTS: Joints}
    return known[model.task](model)


class Classes:
    """Images that are put into classes, by softmax cross-entropy."""

    FIXED_OUTPUT = 4096.0  # the last bias of class 0 that leaves nothing to the other classes

    def __init__(self, model):
        self.model = model
        self.outputs = list(model.shapes.values())[-1]  # the shape of an image's scores

    def observations(self, n, seed):
        """Images (n, channels, height, width) in [0, 1], a flat patch in each, and labels (n,).

        Photographs have such patches: sky, and black or white ground. In a patch whole pooling
        windows are equal; a quarter of the patches is black, where a convolution without bias gives
        exactly 0.
        """
        drawn, labels, _, _ = synthetic.make(n, 0)
        channels, height, width = self.model.observation
        random = np.random.RandomState([seed, n])
        order = random.permutation(n)
        drawn, labels = batches.as_float(drawn[order, :channels, :height, :width]), labels[order]
        for image in drawn:
            size = random.randint(6, 15)
            row, column = random.randint(0, height - size + 1), random.randint(0, width - size + 1)
            colour = random.uniform(0, 1, (channels, 1, 1)) * (random.randint(4) > 0)
            image[:, row : row + size, column : column + size] = colour
        return drawn, labels

    def bright(self, images, labels):
        """The images 64 times as bright."""
        return BRIGHT * images, labels

    def large_gradient_targets(self, labels):
        """Labels that make the gradient large; none do, but in bright images."""
        return labels

    def none(self, n):
        """Targets (n,) for those who need some to load observations."""
        return np.zeros(n, np.int64)

    def digested(self, labels):
        """Labels as bytes, the same on every machine."""
        return labels.astype("<i8").tobytes()

    def loaded(self, y):
        """Labels as they were before a module made them its own, one-hot perhaps."""
        return y.argmax(1) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)

    def fixed_output(self, weights):
        """``weights`` with a last bias that says class 0 whatever the image."""
        *_, weight, bias = weights
        weights = dict(weights, **{bias: weights[bias].copy()})
        weights[bias][0] = self.FIXED_OUTPUT
        if "sigmoid" in self.model.traits:  # which bright images only saturate
            weights[weight] = BRIGHT * weights[weight]
        return weights

    def zero_gradient_targets(self, n):
        """Labels (n,) that leave no gradient under ``fixed_output``: softmax is exactly 1 and 0."""
        return np.zeros(n, np.int64)

    def long_run(self, weights):
        """The weights of the long model, for which ``long_run_targets`` leave no gradient."""
        return self.fixed_output(weights)

    def long_run_push(self, targets):
        """Targets that leave a gradient in the long model: any do."""
        return targets

    def long_run_targets(self, n):
        """Labels (n,) that leave no gradient, whatever has moved a little."""
        return self.zero_gradient_targets(n)

    def counted(self, batch_size, count):
        """A batch for a model that always says class 0; ``count`` labels are not 0.

        Each of these has a loss of about ``FIXED_OUTPUT``, all others none: a step's loss tells
        which batch it was.
        """
        labels = np.zeros(batch_size, np.int64)
        labels[:count] = 1 + np.arange(count) % (self.outputs[0] - 1)
        return np.zeros((batch_size,) + self.model.observation, np.float32), labels

    def graded(self):
        """Scores (n, classes), labels (n,), and what share of the rows is right.

        Made so that half of the rows, labels off by one, and a label among the two, three or five
        highest each give another share.
        """
        random = np.random.RandomState(3)
        n, (classes,) = 301, self.outputs
        scores = random.permutation(n * classes).reshape(n, classes).astype(np.float32)
        ranked = scores.argsort(1)
        labels = ranked[:, 0].astype(np.int64)  # the least likely class: wrong
        labels[:97] = ranked[:97, -1]  # right
        for k, first in ((2, 97), (3, 150), (5, 190)):  # right only if so many are counted
            labels[first:230] = ranked[first:230, -k]
        return scores, labels, 97 / float(n)


class Values:
    """Sequences that are gone on with, by the squared error of each next value."""

    FIXED_OUTPUT = 0.5  # the last bias, and so every output

    def __init__(self, model):
        self.model = model
        steps, features = model.observation
        self.outputs = (2 * steps, features)  # the shape of a sequence's values: the second half
        # is free-running

    def observations(self, n, seed):
        """Noise, which no two steps of have in common: inputs and targets (n, steps, features)."""
        random = np.random.RandomState([seed, n])
        shape = (n,) + self.model.observation
        return tuple(np.float32(random.randint(-128, 129, shape) / 128.0) for _ in range(2))

    def bright(self, sequences, targets):
        """Both 64 times as large, and targets on one side, so that the gradient is large, too."""
        return BRIGHT * sequences, BRIGHT * abs(targets)

    def large_gradient_targets(self, targets):
        """Targets so far off that the gradient is large in every layer."""
        return BRIGHT * targets

    def none(self, n):
        """Targets for those who need some to load observations."""
        return np.zeros((n,) + self.model.observation, np.float32)

    def digested(self, targets):
        """Targets as bytes, the same on every machine."""
        return targets.astype("<f4").tobytes()

    def loaded(self, y):
        """Targets as they were before a module made them its own."""
        return y

    def fixed_output(self, weights):
        """``weights`` that say ``FIXED_OUTPUT``: what else the last layer adds is rounded away."""
        *_, weight, bias = weights
        tiny = np.float32(2.0**-60) * weights[weight]  # in float64, too
        return dict(weights, **{weight: tiny, bias: np.full_like(weights[bias], self.FIXED_OUTPUT)})

    def zero_gradient_targets(self, n):
        """Targets that leave no gradient under ``fixed_output``."""
        return self.none(n) + np.float32(self.FIXED_OUTPUT)

    def long_run(self, weights):
        """The weights of the long model."""
        return weights

    def long_run_push(self, targets):
        """Targets that leave a gradient in the long model: any do."""
        return targets

    def long_run_targets(self, n):
        """None: only targets that are the network's own outputs leave no gradient."""

    def counted(self, batch_size, count):
        """A batch for a model of fixed output, of which ``count`` targets are far off.

        The loss of a step tells which batch it was.
        """
        targets = self.zero_gradient_targets(batch_size)
        targets[:count] += BRIGHT
        return self.none(batch_size), targets

    def graded(self):
        """Values and targets (n, steps, features), and their root mean square difference.

        Made so that half of the rows, half of the steps, one sign of the difference, and its mean
        each give another.
        """
        random = np.random.RandomState(3)
        shape = (301,) + self.outputs
        targets = np.float32(random.randint(-8, 9, shape) / 8.0)
        difference = random.randint(0, 9, shape) / 8.0
        difference[:97] *= 2
        difference[:, : shape[1] // 3] *= 2
        difference *= random.choice([-1, 1], shape)
        right = np.sqrt((difference**2).mean())
        return np.float32(targets + difference), targets, right


class Joints(Values):
    """Images of figures whose visible joints are found, by the squared error of their places."""

    def __init__(self, model):
        self.model = model
        self.outputs = (len(figures.JOINTS), 2)  # the shape of an image's joints

    def observations(self, n, seed):
        """Drawn figures, and targets (n, 14, 3) that have nothing to do with them."""
        images, _ = figures.draw(n, seed)
        random = np.random.RandomState([seed, n])
        targets = self.none(n)
        targets[..., :2] = random.randint(-128, 129, (n,) + self.outputs) / 256.0
        self.show(targets, random.randint(0, 4, targets.shape[:2]) > 0)
        return batches.as_float(images), targets

    @staticmethod
    def show(targets, visible):
        """Make those joints visible, and hide the others."""
        targets[..., 2] = visible
        targets[~visible, :2] = figures.HIDDEN

    def bright(self, images, targets):
        """The images 64 times as bright, and targets so far off that all layers have a gradient."""
        return BRIGHT * images, np.abs(targets) * np.array([FAR, FAR, 1], np.float32)

    def large_gradient_targets(self, targets):
        """Targets so far off that the gradient is large in every layer."""
        return targets * np.array([BRIGHT, BRIGHT, 1], np.float32)

    def none(self, n):
        """Targets for those who need some to load images; no joint is visible."""
        return np.zeros((n, len(figures.JOINTS), 3), np.float32)

    def zero_gradient_targets(self, n):
        """Targets that leave no gradient under ``fixed_output``, with some joints hidden."""
        targets = self.none(n)
        targets[..., :2] = self.FIXED_OUTPUT
        self.show(targets, np.arange(targets[..., 2].size).reshape(n, -1) % 3 > 0)
        return targets

    def long_run(self, weights):
        """``weights`` whose last joint is in one place whatever the image."""
        *_, weight, bias = weights
        weights = dict(weights, **{name: weights[name].copy() for name in (weight, bias)})
        weights[weight][-2:], weights[bias][-2:] = 0, self.FIXED_OUTPUT
        return weights

    def long_run_push(self, targets):
        """Targets that leave a gradient in the long model, but for its last joint."""
        hidden = targets.copy()
        hidden[:, -1] = figures.HIDDEN, figures.HIDDEN, 0
        return hidden

    def long_run_targets(self, n):
        """Targets that leave no gradient: only the last joint is visible, and in its place."""
        targets = self.none(n)
        targets[:, -1] = self.FIXED_OUTPUT, self.FIXED_OUTPUT, 1
        return targets

    def counted(self, batch_size, count):
        """A batch for a model of fixed output, with all joints of ``count`` images far off.

        The loss of a step tells which batch it was.
        """
        targets = self.none(batch_size)
        targets[..., :2] = self.FIXED_OUTPUT
        targets[:count] += BRIGHT
        targets[..., 2] = 1
        return np.zeros((batch_size,) + self.model.observation, np.float32), targets

    def graded(self):
        """Joints (n, 14, 2), targets (n, 14, 3), and the mean distance of those that are visible.

        Made so that half of the rows, hidden joints, one of the two axes, and squares each give
        another.
        """
        random = np.random.RandomState(3)
        targets = self.none(301)
        targets[..., :2] = random.randint(-8, 9, targets[..., :2].shape) / 8.0
        self.show(targets, random.randint(0, 4, targets.shape[:2]) > 0)
        difference = random.randint(-8, 9, targets[..., :2].shape) / 8.0
        difference[:97] *= 2
        distances = np.sqrt((difference**2).sum(-1))
        right = distances[targets[..., 2] > 0].mean()
        return np.float32(targets[..., :2] + difference), targets, right
