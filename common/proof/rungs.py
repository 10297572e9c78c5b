"""The eight rungs that a framework's module climbs to be called the same CNN.

Each rung compares the module with the NumPy reference run in float64 in the same interpreter, on
the synthetic images, with tolerances that the reference's own float32 error sets. A module that
fails a rung still climbs the rest, so that a port's maker sees all of it at once; the first failed
rung is the one to read.
"""

import hashlib
from collections import OrderedDict

import numpy as np

from common.given import batches, initializers, synthetic
from common.given import weights as canonical
from common.given.hyperparameters import CIFAR10, NO_DROPOUT
from common.proof import probes
from common.proof.reference import MULTIPLE, Reference, distance, unit

RUNGS = (
    "data",
    "weights",
    "forward",
    "gradient",
    "momentum",
    "trajectory",
    "dropout",
    "accuracy",
)

SEED = 0  # of weights, batches and dropout
STEPS = 20  # of the trajectory, in two passes
MOMENTUM_STEPS = 3  # after which weights are compared
NUDGE = 2.0**-16  # relative, of every weight: 256 times float32's rounding
NUDGES = 3  # of which the largest effect counts
IMAGES = 300  # that are predicted: more than one batch of any module, the last one partial
ACCURACY_PASSES = 2  # of 20 steps
ACCURACY_IMAGES = 1000  # that the accuracy rung is tested on
REFERENCE_SEEDS = 3  # trainings of the reference that the accuracy is compared with
SIGMAS = 5  # a fair dropout layer is outside once in 1.7 million observations

# sha256 of the trajectory's batches, images and labels: the same bytes in every environment.
BATCHES_SHA256 = "1543bd95dab8de9e974966994fab80adefbb9def4521f6cb2c4c888b43e85639"


class Check:
    """One comparison: its error, its tolerance, and what a reader should know if it fails."""

    def __init__(self, what, error, tolerance, detail=""):
        self.what = what
        self.error = float(error)
        self.tolerance = float(tolerance)
        self.detail = detail

    @property
    def passed(self):
        return self.error <= self.tolerance  # False for NaN

    @property
    def ratio(self):
        """How much of its tolerance was used; infinite where none was allowed."""
        if not np.isfinite(self.error):
            return np.inf
        if self.tolerance == 0:
            return np.inf if self.error else 0.0
        return self.error / self.tolerance


class Certifier:
    """Climbs the rungs with modules; what the reference computes for one serves them all."""

    def __init__(self, threads):
        self.threads = threads
        self.hp = CIFAR10._replace(dropout=NO_DROPOUT)
        size = self.hp.batch_size
        data = synthetic.make(train=STEPS * size, test=ACCURACY_IMAGES)
        train_images, self.train_labels, test_images, self.test_labels = data
        self.train_images = batches.as_float(train_images)
        self.test_images = batches.as_float(test_images)
        self.pairs = list(batches.batches(self.train_images, self.train_labels, size, SEED, 0))
        self.weights = initializers.xavier_uniform(SEED)
        # Initial biases are zero, trained ones are not; a port may have lost them on the way.
        random = np.random.RandomState(SEED)
        self.biased = {
            name: random.uniform(-0.1, 0.1, w.shape).astype(np.float32) if w.ndim == 1 else w
            for name, w in self.weights.items()
        }
        self._cache = {}

    # What the reference gives, computed once.

    def _once(self, key, compute):
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def _reference(self, precision):
        return self._once(precision, lambda: Reference(precision, self.threads, SEED))

    def _scores(self, precision, weights, images):
        return self._reference(precision).scores(self.hp, weights, images)

    def _steps(self, precision, hp, count):
        """[(loss, weights)] of the reference's first steps; weights of the first three alone."""

        def compute():
            steps = self._reference(precision).steps(hp, self.weights, self.pairs[:count])
            return [(loss, w if i < MOMENTUM_STEPS else None) for i, (loss, w) in enumerate(steps)]

        return self._once((precision, hp, count), compute)

    def _nudged(self, hp, count):
        """[[weights] after each step] of the reference started from nudged weights, nudge undone.

        Rounding can tip a ReLU, or the choice of a pool, that stands on the edge, in one framework
        and not in another, and moves a gradient by far more than rounding. The nudge tips what
        rounding may tip, and more.
        """

        def compute():
            found = []
            for seed in range(NUDGES):
                random = np.random.RandomState(seed)
                start = {
                    name: (w * (1 + NUDGE * random.uniform(-1, 1, w.shape))).astype(np.float32)
                    for name, w in self.weights.items()
                }
                steps = self._reference("float32").steps(hp, start, self.pairs[:count])
                nudge = {name: np.float64(start[name]) - w for name, w in self.weights.items()}
                found.append([{n: w[n] - nudge[n] for n in nudge} for _, w in steps])
            return found

        return self._once(("nudged", hp, count), compute)

    def _weights_tolerance(self, name, step, exact, rounded, nudged):
        """What the tensor ``name`` may be off after ``step`` steps."""
        rounding = MULTIPLE * unit(exact[name], rounded[name])
        if name.startswith("dense2"):  # nothing behind it can tip
            return rounding
        tipping = [distance(exact[name], weights[step - 1][name]) for weights in nudged]
        return max([rounding] + tipping)

    # What the module under test gives.

    def take(self, module, lane):
        """Make ``module`` in this lane the one that climbs."""
        self.module = module
        self.settings = module.configure(lane, self.threads, SEED)
        self.losses = {}

    def _model(self, hp, weights):
        module, settings = self.module, self.settings
        return module.loss(module.symbol(settings, hp), settings, hp, weights)

    def _load(self, images, labels):
        return self.module.load(images, labels, self.settings)

    def _module_scores(self, model, images):
        x, _ = self._load(images, np.zeros(len(images), np.int64))
        return self.module.predict(model, x)

    def _module_steps(self, hp, weights, pairs):
        model = self._model(hp, weights)
        for loss in self.module.train(model, [self._load(x, y) for x, y in pairs]):
            yield float(loss), self.module.weights(model)

    # The rungs: each returns its checks, the first being the one that is shown.

    def data(self):
        """The batches are the same bytes, and are trained on in the order given."""
        digest = hashlib.sha256()
        for images, labels in self.pairs:
            digest.update(images.tobytes())
            digest.update(labels.astype("<i8").tobytes())
        shuffled = digest.hexdigest() != BATCHES_SHA256
        yield Check(
            "sha256 of the shared batches",
            shuffled,
            0,
            "the shared batches have sha256 %s, not %s" % (digest.hexdigest(), BATCHES_SHA256),
        )
        images, labels = self.pairs[0]
        x, y = self._load(images, labels)
        x = np.asarray(x)
        if self.settings["layout"] == "NHWC":
            x = x.transpose(0, 3, 1, 2)
        y = np.asarray(y)
        y = y.argmax(1) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)
        pixels = np.size(images) if x.shape != images.shape else np.count_nonzero(x != images)
        detail = "load() changed %d pixels" % pixels
        if pixels and np.array_equal(x, images.swapaxes(2, 3)):
            detail = "load() swapped height and width"
        yield Check("pixels that load() changed", pixels, 0, detail)
        wrong = np.count_nonzero(y != labels)
        yield Check("labels that load() changed", wrong, 0, "load() changed %d labels" % wrong)
        weights, pairs = probes.batch_order(self.hp.batch_size)
        hp = self.hp._replace(learning_rate=1e-6, momentum=0.0)
        losses = [loss for loss, _ in self._module_steps(hp, weights, pairs)]
        rising = abs(len(pairs) - len(losses)) + np.count_nonzero(~(np.diff(losses) < 0))
        yield Check(
            "batches out of order",
            rising,
            0,
            "train() takes the batches in another order than they are given, or mixes them",
        )

    def weights_kept(self):
        """The weights that were put in come out equal bit for bit."""
        out = self.module.weights(self._model(self.hp, self.biased))
        canonical.check(out, "weights()")
        different = [n for n, w in self.biased.items() if not np.array_equal(w, out[n])]
        yield Check(
            "tensors that came back changed",
            len(different),
            0,
            "came back changed: %s" % ", ".join(different),
        )

    def forward(self):
        """Scores of several batches of images, the last one partial."""
        check = self._scores_check("scores", self.biased, self.test_images[:IMAGES])
        if not check.passed:
            check.detail = check.detail or self._first_layer_off(self.test_images[:64])
        yield check

    def _scores_check(self, what, weights, images):
        exact = self._scores("float64", weights, images)
        rounded = self._scores("float32", weights, images)
        scores = self._module_scores(self._model(self.hp, weights), images)
        if scores.shape != exact.shape:
            detail = "predict() gave %s, not %s" % (scores.shape, exact.shape)
            return Check(what, np.inf, MULTIPLE * unit(exact, rounded), detail)
        return Check(what, distance(exact, scores), MULTIPLE * unit(exact, rounded))

    def _first_layer_off(self, images):
        """Name the first layer whose real weights, with all behind it passing through, are off."""
        if not self._scores_check("", probes.up_to(None, self.biased), images).passed:
            return (
                "already off with weights that only pass the image through: look at padding, "
                "pooling, the flatten order, height and width, an activation behind the last layer"
            )
        for layer in ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2"):
            if not self._scores_check("", probes.up_to(layer, self.biased), images).passed:
                return "the first layer off is %s" % layer
        return "every layer is right on 64 images; are all rows there, and in their order?"

    def gradient(self):
        """Every weight after one step without momentum; learning rate 1, to show the gradient."""
        hp = self.hp._replace(learning_rate=1.0, momentum=0.0)
        (_, exact), (_, rounded) = (self._steps(p, hp, 1)[0] for p in ("float64", "float32"))
        nudged = self._nudged(hp, 1)
        _, ours = next(self._module_steps(hp, self.weights, self.pairs[:1]))
        # Backward order, so that the first one off is where the gradient went wrong.
        for name in reversed(list(canonical.SHAPES)):
            detail = "the gradient of %s is off; %s" % (
                name,
                self._update_ratio(self.weights[name], exact[name], ours[name]),
            )
            yield Check(
                name,
                distance(exact[name], ours[name]),
                self._weights_tolerance(name, 1, exact, rounded, nudged),
                detail,
            )

    @staticmethod
    def _update_ratio(start, exact, ours):
        """By what factor an update is too large, the best fit over a tensor, as words."""
        right = (exact - start).ravel()
        factor = float(np.dot(right, (ours - start).ravel()) / max(np.dot(right, right), 1e-300))
        return "its update is %.4g times the reference's" % factor

    def momentum(self):
        """Every weight after each of three steps with momentum."""
        exact = self._steps("float64", self.hp, STEPS)[:MOMENTUM_STEPS]
        rounded = self._steps("float32", self.hp, STEPS)[:MOMENTUM_STEPS]
        nudged = self._nudged(self.hp, MOMENTUM_STEPS)
        ours = self._module_steps(self.hp, self.weights, self.pairs[:MOMENTUM_STEPS])
        before = self.weights
        for step, ((_, e), (_, r), (_, o)) in enumerate(zip(exact, rounded, ours), 1):
            for name in reversed(list(canonical.SHAPES)):
                detail = "step %d, %s: %s" % (
                    step,
                    name,
                    self._update_ratio(before[name], e[name], o[name]),
                )
                if step == 1:
                    detail += (
                        " (Nesterov momentum makes it 1 + momentum, a gradient scaled for "
                        "unit gain 1 - momentum)"
                    )
                yield Check(
                    "step %d, %s" % (step, name),
                    distance(e[name], o[name]),
                    self._weights_tolerance(name, step, e, r, nudged),
                    detail,
                )
            before = e

    def trajectory(self):
        """The loss of each of 20 steps, in two passes with a prediction between."""
        exact = [loss for loss, _ in self._steps("float64", self.hp, STEPS)]
        rounded = [loss for loss, _ in self._steps("float32", self.hp, STEPS)]
        model, ours = self._model(self.hp, self.weights), []
        for part in (self.pairs[: STEPS // 2], self.pairs[STEPS // 2 :]):
            loaded = [self._load(images, labels) for images, labels in part]
            ours += [float(loss) for loss in self.module.train(model, loaded)]
            self._module_scores(model, self.test_images[:1])  # as between two epochs
        finite = [loss if np.isfinite(loss) else None for loss in ours]  # JSON knows no NaN
        self.losses = OrderedDict(
            [("reference", exact), ("reference_float32", rounded), ("framework", finite)]
        )
        missing = abs(len(exact) - len(ours))
        yield Check("losses missing", missing, 0, "train() gave %d losses" % len(ours))
        errors = [unit(e, r) for e, r in zip(exact, rounded)]
        for step, (e, o) in enumerate(zip(exact, ours), 1):
            # Rounding errors grow from step to step, so the unit never shrinks; and one step's may
            # be small by luck, so it is of five at least.
            tolerance = MULTIPLE * max(errors[: max(step, 5)])
            what = "step %d" % step
            detail = "the loss of %s is %.7g, not %.7g" % (what, o, e)
            if step > STEPS // 2:
                detail += "; the second pass began at step %d" % (STEPS // 2 + 1)
            yield Check(what, abs(o - e), tolerance, detail)

    def dropout(self):
        """In training each layer keeps and scales as it should; in prediction none is dropped."""
        hp = CIFAR10._replace(learning_rate=1.0, momentum=0.0)
        weights, images, labels = probes.dropout_batch(hp.batch_size)
        batch = self._load(images, labels)
        model = self._model(hp, weights)
        self._module_scores(model, images[:1])  # leaves prediction mode behind, as between epochs
        for _ in self.module.train(model, [batch]):
            pass
        try:
            seen = probes.observe_dropout(weights, self.module.weights(model))
        except ValueError as error:
            yield Check("values kept", np.inf, 0, str(error))
            return
        for rate, observed in zip(hp.dropout, seen):
            keep = 1 - rate
            # Layer 1 is seen through layer 2, so that two masks decide and two are estimated.
            both = keep * (1 - hp.dropout[1]) if observed.layer == 1 else keep
            variance = (1 - both) / (both * observed.samples)
            if observed.layer == 1:
                variance += hp.dropout[1] / ((1 - hp.dropout[1]) * seen[1].samples)
            what = "dropout %d: fraction kept" % observed.layer
            detail = "%s is %.3f, not %.3f" % (what, observed.kept, keep)
            error = abs(observed.kept - keep)
            yield Check(what, error, SIGMAS * keep * np.sqrt(variance), detail)
            what = "dropout %d: scale" % observed.layer
            detail = "%s is %.4f, not %.4f" % (what, observed.scale, 1 / keep)
            yield Check(what, abs(observed.scale - 1 / keep), 1e-3 / keep, detail)
            alike = both**2 + (1 - both) ** 2
            detail = "dropout %d uses one mask for several values" % observed.layer
            # Pairs overlap, each value being in two; that widens their spread to at most twice.
            tolerance = 2 * SIGMAS * np.sqrt(alike * (1 - alike) / observed.samples)
            error = max(0.0, observed.alike - alike)
            yield Check("dropout %d: masks shared" % observed.layer, error, tolerance, detail)
        yield self._masks_of_two_steps(hp, weights, batch)
        yield self._prediction_has_no_dropout()

    def _masks_of_two_steps(self, hp, weights, batch):
        """A mask is drawn anew in each step: half of the last layer's values change their fate."""
        # A small learning rate, or the first step would undo what makes the masks visible.
        model = self._model(hp._replace(learning_rate=0.01), weights)
        taken = [weights["dense2.weight"]]
        for _ in self.module.train(model, [batch, batch]):
            taken.append(self.module.weights(model)["dense2.weight"])
        # What is kept moves by 3e-4, what is dropped by what the softmax leaves: 1e-40.
        first, second = (np.abs(b - a)[1:] > 1e-6 for a, b in zip(taken, taken[1:]))
        error = max(0.0, float((first == second).mean()) - 0.5)
        what = "dropout 3: masks of two steps alike"
        tolerance = SIGMAS * 0.5 / np.sqrt(first.size)
        return Check(what, error, tolerance, "a dropout mask is drawn once and used again")

    def _prediction_has_no_dropout(self):
        model = self._model(CIFAR10, self.weights)
        for _ in self.module.train(model, [self._load(*self.pairs[0])]):
            pass
        images = self.test_images[:100]
        trained = self.module.weights(model)
        exact = self._scores("float64", trained, images)
        rounded = self._scores("float32", trained, images)
        error = distance(exact, self._module_scores(model, images))
        detail = "prediction differs from the network without dropout"
        return Check("scores in prediction", error, MULTIPLE * unit(exact, rounded), detail)

    def accuracy(self):
        """Trained with dropout, the test accuracy lies in the interval of the reference's."""
        reference = self._once("accuracies", self._reference_accuracies)
        ours = self._accuracy_of(self.module, self.settings)
        mean = float(np.mean(reference))
        # 99.9% interval of a difference of two proportions, widened by what dropout's own
        # randomness was seen to do to the reference.
        interval = 3.29 * np.sqrt(2 * mean * (1 - mean) / ACCURACY_IMAGES)
        interval += 2 * (max(reference) - min(reference))
        detail = "test accuracy %.3f, the reference's %.3f +- %.3f" % (ours, mean, interval)
        yield Check("test accuracy", abs(ours - mean), interval, detail)

    def _reference_accuracies(self):
        references = [Reference("float32", self.threads, seed) for seed in range(REFERENCE_SEEDS)]
        return [self._accuracy_of(one.module, one.settings) for one in references]

    def _accuracy_of(self, module, settings):
        """Test accuracy of ``module`` after a short training with dropout."""
        model = module.loss(module.symbol(settings, CIFAR10), settings, CIFAR10, self.weights)
        x, y = module.load(self.train_images, self.train_labels, settings)
        for epoch in range(ACCURACY_PASSES):
            for _ in module.train(model, batches.batches(x, y, CIFAR10.batch_size, SEED, epoch)):
                pass
        x, _ = module.load(self.test_images, self.test_labels, settings)
        return float(module.evaluate(module.predict(model, x), self.test_labels))

    def certify(self, name, module, lane):
        """Climb all rungs with ``module``; the certificate as a dict of JSON values."""
        self.take(module, lane)
        rungs = [self.climb(rung) for rung in RUNGS]
        return OrderedDict(
            [
                ("framework", name),
                ("lane", lane),
                ("passed", all(rung["passed"] for rung in rungs)),
                ("multiple", MULTIPLE),
                ("rungs", rungs),
                ("losses", self.losses),
                ("settings", self.settings),
            ]
        )

    def climb(self, rung):
        """One rung's result: its worst check, and what the first check that failed has to say."""
        climbing = {"weights": self.weights_kept}.get(rung) or getattr(self, rung)
        try:
            checks = list(climbing())
        except Exception as error:  # a port that raises has failed this rung, and is told why
            checks = [Check("ran", np.inf, 0, "%s: %s" % (type(error).__name__, error))]
        worst = max(checks, key=lambda check: check.ratio)
        failed = [check for check in checks if not check.passed]
        return OrderedDict(
            [
                ("rung", rung),
                ("passed", not failed),
                ("what", worst.what),
                ("error", worst.error if np.isfinite(worst.error) else None),
                ("tolerance", worst.tolerance),
                ("checks", len(checks)),
                ("detail", failed[0].detail if failed else ""),
            ]
        )
