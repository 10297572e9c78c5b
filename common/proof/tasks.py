"""Observations and targets for the probes, by a model's task."""

import numpy as np

from common.data import batches, figures, synthetic
from common.data.shakespeare import IGNORED, continuation
from common.networks.model import CLASSES, JOINTS, SENTENCES, TOKENS, VALUES

BRIGHT = np.float32(64)  # makes activations and gradients large enough for what clips them
# So far off that some of the gradient is left below the last layer of ``fixed_output``.
FAR = np.float32(2.0**58)
FEWEST = 4  # observations of a batch after which weights are compared


def of(model):
    """The proof's class for the task of ``model``."""
    known = {
        CLASSES: Classes,
        SENTENCES: Sentences,
        VALUES: Values,
        JOINTS: Joints,
        TOKENS: Tokens,
    }
    return known[model.task](model)


class Task:
    """What most tasks have in common."""

    whole_numbers = False  # whether an observation is a list of numbers of words or characters
    predicted = 300  # observations: more than one batch of any module, the last one partial

    @property
    def returned(self):
        """The shape of what ``predict`` returns for an observation."""
        return self.outputs

    def given(self, outputs):
        """The part of ``predict``'s result that the observations alone decide: all of it."""
        return outputs

    def digested(self, targets):
        """Targets as bytes, the same on every machine."""
        return targets.astype("<i8").tobytes()

    def large_gradient_targets(self, targets):
        """Targets that make the gradient large in every layer: as they are."""
        return targets

    def zero_gradient_targets(self, n):
        """Targets that give no gradient with ``fixed_output``: softmax is exactly 1 and 0."""
        return self.none(n)

    def long_run(self, weights):
        """The weights of the long model, with which ``long_run_targets`` give no gradient."""
        return self.fixed_output(weights)

    def long_run_push(self, targets):
        """Targets that leave a gradient in the long model: any do."""
        return targets

    def long_run_targets(self, n):
        """Targets that give no gradient, even after weights have moved a little."""
        return self.zero_gradient_targets(n)


class Classes(Task):
    """Classify images, with softmax cross-entropy."""

    FIXED_OUTPUT = 4096.0  # class 0's last bias; with it, the other classes' probability is 0

    def __init__(self, model):
        self.model = model
        self.outputs = list(model.shapes.values())[-1]  # the shape of an image's scores

    def observations(self, n, seed):
        """Images (n, channels, height, width) in [0, 1], each with a flat patch, and labels (n,).

        Photographs have such patches, such as sky. In a patch, all pixels of a pooling window are
        equal. A quarter of the patches is black: there a convolution without bias is exactly 0.
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

    def none(self, n):
        """Placeholder targets (n,), for loading observations."""
        return np.zeros(n, np.int64)

    def loaded(self, y):
        """A module's labels as class numbers again; it may have made them one-hot."""
        return y.argmax(1) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)

    def fixed_output(self, weights):
        """``weights`` with a last bias that gives class 0 for every image."""
        *_, weight, bias = weights
        weights = dict(weights, **{bias: weights[bias].copy()})
        weights[bias][0] = self.FIXED_OUTPUT
        if "sigmoid" in self.model.traits:  # bright images would only saturate it
            weights[weight] = BRIGHT * weights[weight]
        return weights

    def counted(self, batch_size, count):
        """A batch for a model that always predicts class 0; ``count`` labels are not 0.

        Each of these has a loss of about ``FIXED_OUTPUT``, the others none. So a step's loss
        identifies its batch.
        """
        labels = np.zeros(batch_size, np.int64)
        labels[:count] = 1 + np.arange(count) % (self.outputs[0] - 1)
        return np.zeros((batch_size,) + self.model.observation, np.float32), labels

    def graded(self):
        """Scores (n, classes), labels (n,), and the share of rows that are right.

        Counting half of the rows, labels off by one, or a label among the two, three or five
        highest scores gives another share.
        """
        random = np.random.RandomState(3)
        n, (classes,) = 301, self.outputs
        scores = random.permutation(n * classes).reshape(n, classes).astype(np.float32)
        ranked = scores.argsort(1)
        labels = ranked[:, 0].astype(np.int64)  # the least likely class: wrong
        labels[:97] = ranked[:97, -1]  # right
        for k, first in ((2, 97), (3, 150), (5, 190)):  # right only if so many are counted
            if k <= classes:
                labels[first:230] = ranked[first:230, -k]
        return scores, labels, 97 / float(n)


class Values(Task):
    """Continue sequences, with the squared error of each next value."""

    FIXED_OUTPUT = 0.5  # the last bias, which every output equals

    def __init__(self, model):
        self.model = model
        steps, features = model.observation
        # The shape of a sequence's values; the second half is free-running.
        self.outputs = (2 * steps, features)

    def observations(self, n, seed):
        """Inputs and targets (n, steps, features), both noise."""
        random = np.random.RandomState([seed, n])
        shape = (n,) + self.model.observation
        return tuple(np.float32(random.randint(-128, 129, shape) / 128.0) for _ in range(2))

    def bright(self, sequences, targets):
        """Both 64 times as large, all targets positive, so that the gradient is large too."""
        return BRIGHT * sequences, BRIGHT * abs(targets)

    def large_gradient_targets(self, targets):
        """Targets so far off that the gradient is large in every layer."""
        return BRIGHT * targets

    def none(self, n):
        """Placeholder targets, for loading observations."""
        return np.zeros((n,) + self.model.observation, np.float32)

    def digested(self, targets):
        """Targets as bytes, the same on every machine."""
        return targets.astype("<f4").tobytes()

    def loaded(self, y):
        """A module's targets as they were before; they have not changed."""
        return y

    def fixed_output(self, weights):
        """``weights`` that output ``FIXED_OUTPUT``: rounding removes the rest, even in float64."""
        *_, weight, bias = weights
        tiny = np.float32(2.0**-60) * weights[weight]
        return dict(weights, **{weight: tiny, bias: np.full_like(weights[bias], self.FIXED_OUTPUT)})

    def zero_gradient_targets(self, n):
        """Targets that give no gradient with ``fixed_output``."""
        return self.none(n) + np.float32(self.FIXED_OUTPUT)

    def long_run(self, weights):
        """The weights of the long model."""
        return weights

    def long_run_targets(self, n):
        """None: only the network's own outputs, as targets, give no gradient."""

    def counted(self, batch_size, count):
        """A batch for a model with fixed output; ``count`` targets are far off.

        A step's loss identifies its batch.
        """
        targets = self.zero_gradient_targets(batch_size)
        targets[:count] += BRIGHT
        return self.none(batch_size), targets

    def graded(self):
        """Values and targets (n, steps, features), and their root mean square difference.

        Counting half of the rows, half of the steps or one sign, or taking the mean of the
        difference, gives another result.
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
    """Find the visible joints of figures, with the squared error of their positions."""

    def __init__(self, model):
        self.model = model
        self.outputs = (len(figures.JOINTS), 2)  # the shape of an image's joints

    def observations(self, n, seed):
        """Drawn figures, and random targets (n, 14, 3) that do not belong to them."""
        images, _ = figures.draw(n, seed)
        random = np.random.RandomState([seed, n])
        targets = self.none(n)
        targets[..., :2] = random.randint(-128, 129, (n,) + self.outputs) / 256.0
        self.show(targets, random.randint(0, 4, targets.shape[:2]) > 0)
        return batches.as_float(images), targets

    @staticmethod
    def show(targets, visible):
        """Mark joints as visible or hidden, by booleans (n, 14)."""
        targets[..., 2] = visible
        targets[~visible, :2] = figures.HIDDEN

    def bright(self, images, targets):
        """Images 64 times as bright, and targets so far off that all layers have a gradient."""
        return BRIGHT * images, np.abs(targets) * np.array([FAR, FAR, 1], np.float32)

    def large_gradient_targets(self, targets):
        """Targets so far off that the gradient is large in every layer."""
        return targets * np.array([BRIGHT, BRIGHT, 1], np.float32)

    def none(self, n):
        """Placeholder targets, for loading images; no joint is visible."""
        return np.zeros((n, len(figures.JOINTS), 3), np.float32)

    def zero_gradient_targets(self, n):
        """Targets that give no gradient with ``fixed_output``; some joints are hidden."""
        targets = self.none(n)
        targets[..., :2] = self.FIXED_OUTPUT
        self.show(targets, np.arange(targets[..., 2].size).reshape(n, -1) % 3 > 0)
        return targets

    def long_run(self, weights):
        """``weights`` that put the last joint in the same place for every image."""
        *_, weight, bias = weights
        weights = dict(weights, **{name: weights[name].copy() for name in (weight, bias)})
        weights[weight][-2:], weights[bias][-2:] = 0, self.FIXED_OUTPUT
        return weights

    def long_run_push(self, targets):
        """Targets that give a gradient in the long model, except for its last joint."""
        hidden = targets.copy()
        hidden[:, -1] = figures.HIDDEN, figures.HIDDEN, 0
        return hidden

    def long_run_targets(self, n):
        """Targets that give no gradient: only the last joint is visible, and it is right."""
        targets = self.none(n)
        targets[:, -1] = self.FIXED_OUTPUT, self.FIXED_OUTPUT, 1
        return targets

    def counted(self, batch_size, count):
        """A batch for a model with fixed output; all joints of ``count`` images are far off.

        A step's loss identifies its batch.
        """
        targets = self.none(batch_size)
        targets[..., :2] = self.FIXED_OUTPUT
        targets[:count] += BRIGHT
        targets[..., 2] = 1
        return np.zeros((batch_size,) + self.model.observation, np.float32), targets

    def graded(self):
        """Joints (n, 14, 2), targets (n, 14, 3), and the mean distance of the visible joints.

        Counting half of the rows, hidden joints or one axis, or taking squares, gives another
        result.
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


class Sentences(Classes):
    """Sentences, as numbers of words, that are put into classes."""

    whole_numbers = True

    def observations(self, n, seed):
        """Random words (n, steps) after padding of random length, and labels (n,)."""
        random = np.random.RandomState([seed, n])
        (steps,), words = self.model.observation, list(self.model.shapes.values())[0][0]
        sentences = random.randint(1, words, (n, steps)).astype(np.int64)
        sentences[np.arange(steps) < random.randint(0, steps, (n, 1))] = 0
        # In every compared batch: the word for unknown ones, the last one, and one that repeats.
        sentences[::FEWEST, -4:] = 1, 2, words - 1, 2
        return sentences, random.randint(0, self.outputs[0], n).astype(np.int64)

    def bright(self, sentences, labels):
        """The same: no word is brighter than another."""
        return sentences, labels

    def counted(self, batch_size, count):
        """As for images; the sentences are all padding."""
        images, labels = super().counted(batch_size, count)
        return images.astype(np.int64), labels


class Tokens(Task):
    """Texts whose next tokens are predicted, by softmax cross-entropy at each place.

    ``predict`` gives the scores of each place, and then goes on from the first half of each text,
    as many tokens again, each the likeliest after those before it.
    """

    whole_numbers = True
    predicted = 72
    CERTAIN = 4096.0  # about the score of token 0 where nothing is left to the others

    def __init__(self, model):
        self.model = model
        self.words = model.shapes["tokens.weight"][0]
        (self.steps,) = model.observation
        self.outputs = (self.steps, self.words)  # the shape of a text's scores
        self.half = self.steps // 2

    @property
    def returned(self):
        """Scores of each place, then of the tokens that were generated."""
        return (self.steps + self.half, self.words)

    def given(self, outputs):
        """The scores of the places that were given."""
        return outputs[:, : self.steps] if outputs.ndim == 3 else outputs

    def continued(self, texts, outputs):
        """The texts (n, steps) that were generated: the first half, and the likeliest tokens."""
        return np.concatenate([texts[:, : self.half], continuation(outputs, self.steps)], 1)

    def observations(self, n, seed):
        """Random tokens (n, steps), and random targets.

        Where padding does not count, texts have random lengths, and every fifth has no target.
        """
        random = np.random.RandomState([seed, n])
        texts, targets = (
            random.randint(0, self.words, (n, self.steps)).astype(np.int64) for _ in range(2)
        )
        if "ignored" in self.model.traits:
            lengths = random.randint(1, self.steps + 1, n)
            lengths[4::5] = 0
            padding = np.arange(self.steps) >= lengths[:, None]
            texts[padding], targets[padding] = 0, IGNORED
        return texts, targets

    def bright(self, texts, targets):
        """The same: no token is brighter than another."""
        return texts, targets

    def none(self, n):
        """Targets for those who need some to load observations."""
        return np.zeros((n, self.steps), np.int64)

    def loaded(self, y):
        """Targets as they were before a module made them its own, one-hot perhaps."""
        return y.argmax(-1) if y.ndim == 3 and y.shape[-1] > 1 else y.reshape(-1, self.steps)

    def fixed_output(self, weights):
        """``weights`` under which token 0 is certain at each place.

        The first feature of the last normalisation is large, and it is a score of token 0 alone.
        """
        head = "head.weight" if "head.weight" in weights else "tokens.weight"
        names = [head, "norm.weight", "tokens.weight"]
        weights = dict(weights, **{name: weights[name].copy() for name in names})
        weights[head][:, 0] = 0
        if "norm.bias" in weights:
            weights["norm.bias"] = weights["norm.bias"].copy()
            weights["norm.bias"][0], weights["norm.weight"][0] = self.CERTAIN, 0
            weights[head][0, 0] = 1
        else:  # a feature that outweighs all others of a text has the root of their number
            weights["tokens.weight"][:, 0] = 64
            weights["norm.weight"][0] = 1
            weights[head][0, 0] = self.CERTAIN / np.sqrt(weights[head].shape[1])
        return weights

    def counted(self, batch_size, count):
        """A batch for a model that always says token 0; all targets of ``count`` texts are not.

        The loss of a step tells which batch it was.
        """
        targets = self.none(batch_size)
        targets[:count] = 1
        return self.none(batch_size), targets

    def graded(self):
        """Scores (n, steps + steps // 2, words), targets (n, steps), and their cross-entropy.

        Made so that half of the rows or places, targets one place off, the scores of generated
        tokens, and the mean of the rows' means each give another.
        """
        random = np.random.RandomState(3)
        n = 41
        scores = random.normal(0, 1, (n, self.steps + self.half, self.words)).astype(np.float32)
        targets = random.randint(0, self.words, (n, self.steps)).astype(np.int64)
        scores[: n // 2] *= 3
        scores[:, : self.half] *= 2
        counted = np.ones(targets.shape, bool)
        if "ignored" in self.model.traits:
            counted = np.arange(self.steps) < random.randint(1, self.steps + 1, (n, 1))
            targets[~counted] = IGNORED
        given = np.float64(scores[:, : self.steps])
        logs = np.log(np.exp(given).sum(-1))
        chosen = np.take_along_axis(given, np.maximum(targets, 0)[..., None], -1)[..., 0]
        return scores, targets, float((logs - chosen)[counted].mean())
