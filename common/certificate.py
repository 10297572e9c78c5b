"""The parity certificate: eight rungs that a framework's module climbs to be called the same CNN.

Each rung compares the module with the NumPy reference run in float64 in the same interpreter, on
the synthetic images, with tolerances that the reference's own float32 error sets. A module that
fails a rung still climbs the rest, so that a port's maker sees all of it at once; the first failed
rung is the one to read.

    python -m common.certificate NAME [--lane same|best] [--threads N]
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections import OrderedDict

import numpy as np

import frameworks
from common import batches, contract, data, initializers, machine, probes, synthetic
from common import weights as canonical
from common.files import atomic_write
from common.hyperparameters import CIFAR10, NO_DROPOUT
from common.reference import MULTIPLE, Reference, distance, unit

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

STEPS = 20  # of the trajectory
ACCURACY_STEPS = 40  # of the accuracy rung's training
ACCURACY_IMAGES = 1000  # that it is tested on
REFERENCE_SEEDS = 2  # trainings of the reference that the accuracy is compared with
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

    def __init__(self, threads, seed=0):
        self.threads = threads
        self.seed = seed
        self.hp = CIFAR10._replace(dropout=NO_DROPOUT)
        size = self.hp.batch_size
        data = synthetic.make(train=STEPS * size, test=ACCURACY_IMAGES)
        train_images, self.train_labels, test_images, self.test_labels = data
        self.train_images = train_images.astype(np.float32) / 255
        self.test_images = test_images.astype(np.float32) / 255
        self.pairs = list(batches.batches(self.train_images, self.train_labels, size, seed, 0))
        self.weights = initializers.xavier_uniform(seed)
        self._cache = {}

    # What the reference gives, computed once.

    def _once(self, key, compute):
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def _reference(self, precision):
        return self._once(precision, lambda: Reference(precision, self.threads, self.seed))

    def _scores(self, precision, weights, images):
        return self._reference(precision).scores(self.hp, weights, images)

    def _steps(self, precision, hp, count):
        """[(loss, weights)] of the reference's first ``count`` steps on the shared batches."""

        def compute():
            return list(self._reference(precision).steps(hp, self.weights, self.pairs[:count]))

        return self._once((precision, hp, count), compute)

    # What the module under test gives.

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
        out = self.module.weights(self._model(self.hp, self.weights))
        canonical.check(out, "weights()")
        different = [n for n, w in self.weights.items() if not np.array_equal(w, out[n])]
        yield Check(
            "tensors that came back changed",
            len(different),
            0,
            "came back changed: %s" % ", ".join(different),
        )

    def forward(self):
        """Scores of 100 images: one full batch and a partial one."""
        images = self.test_images[:100]
        check = self._scores_check("scores", self.weights, images)
        if not check.passed:
            check.detail = self._first_layer_off(images)
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
        if not self._scores_check("", probes.up_to(None, self.weights), images).passed:
            return (
                "already off with weights that only pass the image through: look at padding, "
                "pooling, the flatten order, height and width, an activation behind the last layer"
            )
        for layer in ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2"):
            if not self._scores_check("", probes.up_to(layer, self.weights), images).passed:
                return "the first layer off is %s" % layer
        return "each layer by itself is right, their composition is off"

    def gradient(self):
        """Every weight after one step without momentum; learning rate 1, to show the gradient."""
        hp = self.hp._replace(learning_rate=1.0, momentum=0.0)
        (_, exact), (_, rounded) = (self._steps(p, hp, 1)[0] for p in ("float64", "float32"))
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
                MULTIPLE * unit(exact[name], rounded[name]),
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
        exact = self._steps("float64", self.hp, STEPS)[:3]
        rounded = self._steps("float32", self.hp, STEPS)[:3]
        ours = self._module_steps(self.hp, self.weights, self.pairs[:3])
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
                    MULTIPLE * unit(e[name], r[name]),
                    detail,
                )
            before = e

    def trajectory(self):
        """The loss of each of 20 steps."""
        exact = [loss for loss, _ in self._steps("float64", self.hp, STEPS)]
        rounded = [loss for loss, _ in self._steps("float32", self.hp, STEPS)]
        ours = [loss for loss, _ in self._module_steps(self.hp, self.weights, self.pairs)]
        finite = [loss if np.isfinite(loss) else None for loss in ours]  # JSON knows no NaN
        self.losses = OrderedDict(
            [("reference", exact), ("reference_float32", rounded), ("framework", finite)]
        )
        yardstick = 0.0
        for step, (e, r, o) in enumerate(zip(exact, rounded, ours), 1):
            # Rounding errors grow from step to step, so the unit never shrinks.
            yardstick = max(yardstick, unit(e, r))
            what = "step %d" % step
            detail = "the loss of %s is %.7g, not %.7g" % (what, o, e)
            yield Check(what, abs(o - e), MULTIPLE * yardstick, detail)
        missing = len(exact) - len(ours)
        yield Check("losses missing", abs(missing), 0, "train() gave %d losses" % len(ours))

    def dropout(self):
        """In training each layer keeps and scales as it should; in prediction none is dropped."""
        # Two steps are looked at: a mask may not be drawn once and kept.
        hp = CIFAR10._replace(learning_rate=1.0, momentum=0.0)
        weights, images, labels = probes.dropout_batch(hp.batch_size)
        model = self._model(hp, weights)
        self._module_scores(model, images[:1])  # leaves prediction mode behind, as between epochs
        batch = [self._load(images, labels)]
        for _ in self.module.train(model, batch):
            pass
        try:
            seen = probes.observe_dropout(weights, self.module.weights(model))
        except ValueError as error:
            yield Check("values kept", np.inf, 0, str(error))
            return
        for rate, observed in zip(hp.dropout, seen):
            keep = 1 - rate
            what = "dropout %d: fraction kept" % observed.layer
            yield Check(
                what,
                abs(observed.kept - keep),
                SIGMAS * np.sqrt(keep * rate / observed.samples) / keep,
                "%s is %.3f, not %.3f" % (what, observed.kept, keep),
            )
            what = "dropout %d: scale" % observed.layer
            detail = "%s is %.4f, not %.4f" % (what, observed.scale, 1 / keep)
            yield Check(what, abs(observed.scale - 1 / keep), 1e-3 / keep, detail)
            # Layer 1 is seen behind layer 2, so two masks decide there.
            both = keep * (1 - hp.dropout[1]) if observed.layer == 1 else keep
            alike = both**2 + (1 - both) ** 2
            yield Check(
                "dropout %d: masks shared" % observed.layer,
                max(0.0, observed.alike - alike),
                SIGMAS * np.sqrt(alike * (1 - alike) / observed.samples) * 1.5,
                "dropout %d uses one mask for several values" % observed.layer,
            )
        model = self._model(CIFAR10, self.weights)
        for _ in self.module.train(model, [self._load(*self.pairs[0])]):
            pass
        images = self.test_images[:100]
        trained = self.module.weights(model)
        exact = self._scores("float64", trained, images)
        rounded = self._scores("float32", trained, images)
        error = distance(exact, self._module_scores(model, images))
        detail = "prediction differs from the network without dropout"
        yield Check("scores in prediction", error, MULTIPLE * unit(exact, rounded), detail)

    def accuracy(self):
        """Trained with dropout, the test accuracy lies in the interval of the reference's."""
        reference = self._once("accuracies", self._reference_accuracies)
        settings = self.settings
        ours = train_accuracy(self.module, settings, self._accuracy_passes(), self)
        mean = float(np.mean(reference))
        # 99.9% interval of a difference of two proportions, widened by what dropout's own
        # randomness was seen to do to the reference.
        interval = 3.29 * np.sqrt(2 * mean * (1 - mean) / ACCURACY_IMAGES)
        interval += max(reference) - min(reference)
        detail = "test accuracy %.3f, the reference's %.3f +- %.3f" % (ours, mean, interval)
        yield Check("test accuracy", abs(ours - mean), interval, detail)
        chance = Check("accuracy above chance", 0.0 if ours > 0.2 else 1.0, 0, detail)
        yield chance

    def _accuracy_passes(self):
        size, seed = self.hp.batch_size, self.seed
        count = ACCURACY_STEPS // STEPS
        images, labels = self.train_images, self.train_labels
        return [list(batches.batches(images, labels, size, seed, e)) for e in range(count)]

    def _reference_accuracies(self):
        found = []
        for seed in range(REFERENCE_SEEDS):
            reference = Reference("float32", self.threads, seed)
            passes = self._accuracy_passes()
            found.append(train_accuracy(reference.module, reference.settings, passes, self))
        return found

    def certify(self, name, module, lane):
        """Climb all rungs with ``module``; the certificate as a dict of JSON values."""
        self.module = module
        self.settings = module.configure(lane, self.threads, self.seed)
        self.losses = {}
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


def train_accuracy(module, settings, passes, certifier):
    """Test accuracy of ``module`` after ``passes`` over shared batches, with dropout."""
    network = module.symbol(settings, CIFAR10)
    model = module.loss(network, settings, CIFAR10, certifier.weights)
    for pairs in passes:
        for _ in module.train(model, (module.load(x, y, settings) for x, y in pairs)):
            pass
    x, y = module.load(certifier.test_images, certifier.test_labels, settings)
    return float(module.evaluate(module.predict(model, x), certifier.test_labels))


def identity(name, module, lane, threads):
    """A sha256 of all that a certificate rests on: sources, versions, lane, threads, device.

    A certificate is valid for a run whose identity is the same.
    """
    digest = hashlib.sha256()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = (
        "common",
        "frameworks/numpy",
        os.path.dirname(os.path.relpath(module.__file__, root)),
    )
    for folder in folders:
        for file in sorted(os.listdir(os.path.join(root, folder))):
            if file.endswith(".py"):
                with open(os.path.join(root, folder, file), "rb") as source:
                    digest.update(source.read())
    versions = machine.versions(frameworks.find(name).package)
    facts = {key: machine.facts()[key] for key in ("cpu", "gpus")}
    digest.update(json.dumps([name, lane, threads, versions, facts], sort_keys=True).encode())
    return digest.hexdigest()


def path(name, lane):
    """Where the last certificate of a framework and lane is kept on this machine."""
    return os.path.join(data.cache_folder(), "certificates", "%s-%s.json" % (name, lane))


def save(certificate, file_path):
    """Write a certificate as JSON, whole or not at all."""
    with atomic_write(file_path) as file:
        file.write(json.dumps(certificate, indent=1).encode())


def kept(name, module, lane, threads):
    """The certificate kept on this machine, if it is valid for this run, else None."""
    try:
        with open(path(name, lane)) as file:
            certificate = json.load(file)
    except (OSError, ValueError):
        return None
    if certificate.get("identity") != identity(name, module, lane, threads):
        return None
    return certificate


def obtain(name, module, lane, threads):
    """A valid certificate: the one kept, or a new one from a process of its own.

    Its own, so that the memory and caches that proving takes are not counted as the run's.
    """
    if kept(name, module, lane, threads) is None:
        command = [sys.executable, "-m", "common.certificate", name, "--lane", lane]
        command += ["--threads", str(threads)]
        if subprocess.call(command) not in (0, 1):
            raise RuntimeError("the certificate of %s could not be made" % name)
    return kept(name, module, lane, threads)


def table(certificate):
    """The certificate as lines of text, a rung a line."""
    lines = []
    for rung in certificate["rungs"]:
        error = "-" if rung["error"] is None else "%.2e" % rung["error"]
        line = "%-11s %s  error %8s  tolerance %.2e  %s"
        word = "passed" if rung["passed"] else "FAILED"
        lines.append(line % (rung["rung"], word, error, rung["tolerance"], rung["what"]))
        if rung["detail"]:
            lines.append("            " + rung["detail"])
    return lines


def main(arguments=None):
    """Certify one framework in one lane; exit code 1 if a rung failed."""
    parser = argparse.ArgumentParser(prog="python -m common.certificate")
    parser.add_argument("name")
    parser.add_argument("--lane", choices=contract.LANES, default="same")
    parser.add_argument("--threads", type=int, default=machine.usable_cores())
    options = parser.parse_args(arguments)
    machine.limit_threads(options.threads)
    module = frameworks.load_module(options.name)
    certificate = Certifier(options.threads).certify(options.name, module, options.lane)
    certificate["identity"] = identity(options.name, module, options.lane, options.threads)
    save(certificate, path(options.name, options.lane))
    print("\n".join(table(certificate)))
    return 0 if certificate["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
