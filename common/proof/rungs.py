"""The eight rungs that a framework's module climbs to be called the same network.

Each rung compares the module with the NumPy reference run in float64 in the same interpreter, with
tolerances that the reference's own float32 error sets. A module that fails a rung still climbs the
rest, so that a port's maker sees all of it at once; the first failed rung is the one to read.

A framework may take long to build a model, so a few models serve all rungs:

gradient model   weights, scores, and a step without momentum and with learning rate 1
bright model     the same, but certain of its answer: a step that leaves no gradient (sixty for
                 Adam), and one with other labels; images 64 times as bright
split model      with batch normalisation: a step in which each ReLU is open for some images
momentum model   with other hyperparameters: three steps; but for Adam sixty more, and three that
                 are compared
recipe model     with the recipe's own: 20 steps, then the scores
probe model      hand-made weights that show the order of batches and the dropout masks; built anew
                 with the same seed and with another
"""

import hashlib
from collections import OrderedDict

import numpy as np

from common.networks import hyperparameters
from common.networks import weights as canonical
from common.networks.model import CLASSES, JOINTS
from common.proof import contract, dropout, joint_masks, masks, mixed, probes, updates
from common.proof.check import Check
from common.proof.oracle import LATE, MOMENTUM_BATCH, PROBE_BATCH, SEED, STEPS, Oracle
from common.proof.reference import CHOICES, conventions_of, distance, products, unit
from common.system.modules import MIXED

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

COUNTS = (15, 3, 12, 1, 6)  # of observations with a loss, in the batches that show their order
PROBE_RATE = 2.0**-20  # the probe model's learning rate
TOO_EXACT = 64  # float32 whose error is so many times below the unit is float64 in disguise

# What may be wrong where weights only hand their input on, by what a model is made of.
SUSPECTS = (
    ("convolution", "padding"),
    ("pool", "pooling"),
    ("recurrent", "the state that a sequence begins with"),
    ("recurrent", "what running free is fed with"),
    ("batchnorm", "batch statistics in prediction"),
)


def copied(weights):
    """Weights that a module may do with as it likes."""
    return {name: w.copy() for name, w in weights.items()}


class Certifier:
    """Climbs the rungs with modules; what the reference computes for one serves them all."""

    def __init__(self, model, threads, cache=None, products="float32"):
        self.oracle = Oracle(model, threads, {} if cache is None else cache, products)
        self.model, self.threads, self.task = model, threads, self.oracle.task
        self.masks = joint_masks if model.task is JOINTS else masks
        self.rungs = [rung for rung in RUNGS if rung != "dropout" or rung in model.traits]

    def take(self, module, lane):
        """Make ``module`` in this lane the one that climbs."""
        self.module, self.lane = module, lane
        self.settings = module.configure(lane, self.threads, SEED)
        self.conventions = conventions_of(self.settings)
        self.losses = {}
        self._runs = {}

    # What the module under test gives.

    def _build(self, hp, weights):
        network = self.module.symbol(self.settings, hp)
        return self.module.loss(network, self.settings, hp, copied(weights))

    def _load(self, images, labels):
        return self.module.load(images.copy(), labels.copy(), self.settings)

    def _scores(self, model, images):
        x, _ = self._load(images, self.task.none(len(images)))
        return self.module.predict(model, x)

    def _interlude(self, model, images):
        """Predict, as between two epochs, for the state alone that prediction leaves behind."""
        self._scores(model, images)

    def _train(self, model, pairs):
        """Yield (loss, weights) after each step of one pass."""
        for loss in self.module.train(model, [self._load(x, y) for x, y in pairs]):
            yield float(loss), self.module.weights(model)

    def _in_passes(self, model, loaded):
        """Train on half of these batches in one pass, and on each of the others in its own.

        So that what depends on the number of steps shows, and what depends on that of passes.
        """
        half = len(loaded) // 2
        for part in [loaded[:half]] + [[batch] for batch in loaded[half:]]:
            for loss in self.module.train(model, part):
                yield loss

    def _once(self, name, run):
        """What a model's run gave, for all rungs that look at it; its error, again for each."""
        if name not in self._runs:
            try:
                self._runs[name] = run()
            except Exception as error:
                self._runs[name] = error
        if isinstance(self._runs[name], Exception):
            raise self._runs[name]
        return self._runs[name]

    def _gradient_model(self):
        """The gradient model; what it was built with is kept, to see whether it stays as it is."""

        def build():
            self._given = copied(self.oracle.biased)
            network = self.module.symbol(self.settings, self.oracle.gradient_hp)
            return self.module.loss(network, self.settings, self.oracle.gradient_hp, self._given)

        return self._once("built", build)

    def _gradient_run(self):
        """Weights after the gradient model's step, the bright model's first and last, uneven's."""

        def run():
            oracle = self.oracle
            steps = list(
                self._train(self._gradient_model(), [oracle.plain_step(self.conventions)[:2]])
            )
            model = self._build(oracle.bright_hp, oracle.fixed_output)
            silent = oracle.zero_gradient_batch()
            steps += self._train(model, [silent])
            for _ in self._in_passes(
                model, [self._load(*silent)] * (oracle.zero_gradient_steps - 1)
            ):
                pass
            steps += self._train(model, [oracle.bright_step(self.conventions)[:2]])
            if "batchnorm" in self.model.traits:
                model = self._build(oracle.gradient_hp, oracle.split_relus)
                steps += self._train(model, [oracle.split_relus_step(self.conventions)[:2]])
            return [weights for _, weights in steps]

        return self._once("gradient", run)

    def _probe_hp(self):
        hp = hyperparameters.plain(self.model.hp, PROBE_BATCH)
        hp = hp._replace(learning_rate=PROBE_RATE)
        return hp._replace(dropout=self.masks.RATES) if "dropout" in self.model.traits else hp

    def _probe_batch(self):
        if "dropout" in self.model.traits:
            return self.masks.batch(self.model, PROBE_BATCH)[1:]
        return self.task.counted(PROBE_BATCH, self.masks.SEEN)

    def _probe(self, seed):
        """The probe model, built with this seed, and the weights that it was given."""
        settings = self.module.configure(self.lane, self.threads, seed)
        hp = self._probe_hp()
        weights = self.task.fixed_output(probes.zeros(self.model))
        if "dropout" in self.model.traits:
            weights = self.masks.batch(self.model, PROBE_BATCH)[0]
        network = self.module.symbol(settings, hp)
        return self.module.loss(network, settings, hp, copied(weights)), weights

    def _probe_run(self):
        """Losses of a pass, [(weights before, after)] of three mask steps, the model.

        Two of these steps begin the pass, with batches behind them whose order shows; the third is
        a pass of its own, with a prediction before it.
        """

        def run():
            model, weights = self._probe(SEED)
            batch = self._probe_batch()
            ordered = [self.task.counted(PROBE_BATCH, count) for count in COUNTS]
            self._interlude(model, batch[0][:1])
            losses, after = [], [weights]
            loaded = [self._load(*pair) for pair in [batch, batch] + ordered]
            for loss in self.module.train(model, loaded):
                losses.append(float(loss))
                if len(after) < 3:
                    after.append(self.module.weights(model))
            last = self.module.weights(model)
            self._interlude(model, batch[0][:1])
            ((_, third),) = self._train(model, [batch])
            return losses, [(after[0], after[1]), (after[1], after[2]), (last, third)], model

        return self._once("probe", run)

    # The rungs: each yields its checks.

    def data(self):
        """The batches are the same bytes, and are trained on in the order given."""
        digest = hashlib.sha256()
        for images, labels in self.oracle.pairs:
            digest.update(images.tobytes())
            digest.update(self.task.digested(labels))
        known = self.model.batches_sha256
        yield Check(
            "sha256 of the shared batches",
            digest.hexdigest() != known,
            0,
            "the shared batches have sha256 %s, not %s" % (digest.hexdigest(), known),
        )
        images, labels = self.oracle.pairs[0]
        x, y = self._load(images, labels)
        x = np.asarray(x)
        yield Check("precision", x.dtype != np.float32, 0, "load() gives %s" % x.dtype)
        if self.settings["layout"] == "NHWC":
            x = x.transpose(0, 3, 1, 2)
        y = self.task.loaded(np.asarray(y))
        pixels = np.size(images) if x.shape != images.shape else np.count_nonzero(x != images)
        detail = "load() changed %d pixels" % pixels
        if pixels and np.array_equal(x, images.swapaxes(2, 3)):
            detail = "load() swapped height and width"
        yield Check("pixels that load() changed", pixels, 0, detail)
        wrong = np.size(labels) if y.shape != labels.shape else np.count_nonzero(y != labels)
        detail = "load() changed %d %s" % (wrong, self.model.task.targets)
        yield Check("targets that load() changed", wrong, 0, detail)
        losses, _, _ = self._probe_run()
        counts = 2 * (self.masks.SEEN,) + COUNTS
        yield Check(
            "losses missing",
            abs(len(counts) - len(losses)),
            0,
            "train() gave %d losses for %d batches" % (len(losses), len(counts)),
        )
        # A loss is nearly its batch's count, times what the certain score leads by.
        order = np.argsort(np.argsort(losses[2:])), np.argsort(np.argsort(COUNTS))
        yield Check(
            "batches out of order",
            np.count_nonzero(order[0] != order[1]) + np.count_nonzero(~np.isfinite(losses)),
            0,
            "train() takes the batches in another order than they are given, or mixes them",
        )

    def weights_kept(self):
        """The weights that were put in come out equal bit for bit; they are float32."""
        precision = self.settings["precision"]
        detail = "settings say %s; what can be proven is float32" % precision
        yield Check("precision", precision != "float32", 0, detail)
        taken = products(self.settings)
        detail = "settings say products of %s, in lane %s" % (taken, self.lane)
        wrong = taken != self.oracle.products or (taken == "bfloat16") != (self.lane == MIXED)
        yield Check("products", wrong, 0, detail)
        problems = contract.settings_problems(self.settings)
        yield Check("settings", len(problems), 0, "; ".join(problems))
        out = self.module.weights(self._gradient_model())
        canonical.check(self.model, out, "weights()")
        given = self.oracle.biased
        different = [n for n, w in given.items() if not np.array_equal(w, out[n])]
        detail = "came back changed: %s" % ", ".join(different)
        yield Check("tensors that came back changed", len(different), 0, detail)

    def forward(self):
        """Scores of several batches, the last one partial, and of images 64 times as bright."""
        oracle, images = self.oracle, self.oracle.test_images
        bright, _ = self.task.bright(images[:40], self.task.none(40))
        for what, part in (("scores", images), ("scores, bright", bright)):
            exact, allowed = oracle.scores(what, oracle.biased, part)
            scores = self._scores(self._gradient_model(), part)
            check = self._scores_check(what, exact, allowed, scores)
            if not check.passed and not check.detail:
                check.detail = "only bright images are off: look for an activation that clips"
                if part is images:
                    check.detail = self._first_layer_off(part[:64])
            yield check
        if oracle.products == "bfloat16":
            for check in mixed.forward(oracle, self._build, self._scores):
                yield check

    def _scores_check(self, what, exact, allowed, scores):
        if scores.shape != exact.shape:
            detail = "predict() gave %s, not %s" % (scores.shape, exact.shape)
            return Check(what, np.inf, self.oracle.multiple * allowed, detail)
        if scores.dtype != np.float32:
            detail = "predict() gave %s, not float32" % scores.dtype
            return Check(what, np.inf, self.oracle.multiple * allowed, detail)
        return Check(what, distance(exact, scores), self.oracle.multiple * allowed)

    def _first_layer_off(self, images):
        """Name the first layer whose real weights, with all behind it passing through, are off.

        Found by halves: what is off with the real weights of one layer is off with those of more.
        """

        def off(layer):
            weights = probes.up_to(self.model, layer, self.oracle.biased)
            exact, allowed = self.oracle.scores("up to %s" % layer, weights, images)
            scores = self._scores(self._build(self.oracle.gradient_hp, weights), images)
            return not self._scores_check("", exact, allowed, scores).passed

        layers = list(probes.layers(self.model))
        if off(None):
            told = "already off with weights that only pass the %s through: look at %s"
            sequences = "recurrent" in self.model.traits
            suspects = [what for trait, what in SUSPECTS if trait in self.model.traits]
            images = [] if sequences else ["the flatten order", "height and width"]
            suspects += images + ["an activation behind the last layer"]
            return told % ("sequence" if sequences else "image", ", ".join(suspects))
        if not off(layers[-1]):
            return "every layer is right on 64 images; are all rows there, and in their order?"
        right, wrong = -1, len(layers) - 1
        while wrong - right > 1:
            middle = (right + wrong) // 2
            right, wrong = (right, middle) if off(layers[middle]) else (middle, wrong)
        return "the first layer off is %s" % layers[wrong]

    def gradient(self):
        """Every weight after a step, after one without gradient, after one on bright images.

        Without momentum and with learning rate 1, the change of a weight is its gradient. With
        batch normalisation there is a step of the split-ReLU model, too.
        """
        oracle, start, certain = self.oracle, self.oracle.biased, self.oracle.fixed_output
        run = self._gradient_run()
        asked = [
            ("", start, oracle.plain_step),
            ("", certain, None),
            ("bright, ", certain, oracle.bright_step),
            ("uneven, ", oracle.split_relus, oracle.split_relus_step),
        ][: 4 if "batchnorm" in self.model.traits else 3]
        missing = len(asked) - len(run)
        yield Check("steps missing", abs(missing), 0, "train() gave %d losses" % len(run))
        state = self.model.state
        for name in reversed([name for name in self.model.shapes if name not in state]):
            moved = np.float64(run[1][name]) - certain[name]
            share = float(np.vdot(moved, certain[name]) / np.vdot(certain[name], certain[name]))
            detail = (
                "%s moved in a step whose gradient is 0, by %.3g of its own size: "
                "look at weight decay, or a softened label" % (name, share)
            )
            yield Check("no gradient, " + name, np.count_nonzero(moved), 0, detail)
        changed = [name for name, w in start.items() if not np.array_equal(w, self._given[name])]
        detail = "training writes into the arrays that loss() was given: %s" % ", ".join(changed)
        yield Check("given arrays changed", len(changed), 0, detail)
        for check in self._conventions(run[0]):
            yield check
        for (what, before, step), after in zip(asked, run):
            if step is not None:
                for check in self._updates(what, before, after, step(self.conventions)[2]):
                    yield check
        if self.model.task is CLASSES:
            for check in self._unlikely():
                yield check
        if oracle.products == "bfloat16":
            batch = oracle.plain_step(self.conventions)[:2]
            for check in mixed.gradient(oracle, self._build, self._train, batch):
                yield check

    def _updates(self, what, start, ours, step):
        """A check for each tensor, in backward order: the first one off is where it went wrong."""
        for name, error, allowed, factor in updates.compared(
            start, ours, step, self.oracle.multiple
        ):
            detail = "%s%s: its update is %.6g times the reference's" % (what, name, factor)
            yield Check(what + name, error, allowed, detail)

    def _unlikely(self):
        """A label that has no chance at all still has its loss, and its gradient."""
        losses, pairs, _ = self._probe_run()
        before, after = pairs[0]
        last = list(self.model.shapes)[-1]
        batch = self._probe_batch()
        right = self.oracle.fixed_output_update(self.conventions, self._probe_hp(), before, batch)
        shares = (np.float64(after[last]) - before[last])[1:] / right[1:]
        expected = self.task.FIXED_OUTPUT * self.masks.SEEN / PROBE_BATCH
        detail = "the loss of all but impossible labels is %.4g, not about %.4g: look for a " % (
            losses[0],
            expected,
        )
        error = abs(losses[0] / expected - 1)
        yield Check("unlikely labels, loss", error, 0.1, detail + "probability that is clipped")
        detail = "labels that are all but impossible give %.3g times their gradient" % shares.min()
        yield Check("unlikely labels, gradient", np.abs(shares - 1).max(), 0.1, detail)

    def _conventions(self, ours):
        """In what frameworks differ by nature is named in the settings, and named rightly."""

        def fits(conventions):
            _, _, step = self.oracle.plain_step(conventions)
            compared = updates.compared(self.oracle.biased, ours, step, self.oracle.multiple)
            return all(error <= allowed for _, error, allowed, _ in compared)

        for key in self._applies():
            if key in ("adam_scalars", "variance"):
                continue  # float32 has the digits that this step needs, either way
            said = getattr(self.conventions, key)
            others = [one for one in getattr(CHOICES, key) if one != said]
            wrong = not fits(self.conventions) and fits(
                self.conventions._replace(**{key: others[0]})
            )
            detail = "settings say %s: %s; it is: %s" % (key, said, others[0])
            yield Check(key, wrong, 0, detail)

    def _applies(self):
        """What of ``Conventions`` this model has."""
        adam = ["adam_epsilon", "adam_scalars"] if "adam" in self.model.traits else []
        batchnorm = "batchnorm" in self.model.traits
        state = ["running_variance", "variance"] if batchnorm else []
        return (["ties"] if "pool" in self.model.traits else []) + adam + state

    def momentum(self):
        """Every weight after each of three steps with momentum, and the updates after many."""
        oracle = self.oracle
        model, ours = self._momentum_run()
        yield Check("steps missing", abs(3 - len(ours)), 0, "train() gave %d losses" % len(ours))
        start = oracle.biased
        for number, (weights, (_, _, step)) in enumerate(zip(ours, self._momentum_steps()), 1):
            for check in self._updates("step %d, " % number, start, weights, step):
                if number == 1 and not check.passed and "momentum" in self.model.traits:
                    check.detail += (
                        " (Nesterov momentum makes it 1 + momentum, a gradient scaled for unit "
                        "gain 1 - momentum)"
                    )
                yield check
            start = step.exact
        if "momentum" in self.model.traits:
            for check in self._late(model):
                yield check

    def _late(self, model):
        """After many more steps of the momentum model, each update follows from the one before."""
        oracle = self.oracle
        many = [
            self._load(
                oracle.images[first : first + MOMENTUM_BATCH],
                oracle.labels[first : first + MOMENTUM_BATCH],
            )
            for first in range(0, LATE * MOMENTUM_BATCH, MOMENTUM_BATCH)
        ]
        done = sum(1 for _ in self._in_passes(model, many[:-1]))
        yield Check("losses missing", abs(LATE - 1 - done), 0, "train() gave %d losses" % done)
        before = self.module.weights(model)
        for _ in self.module.train(model, many[-1:]):
            pass
        self._last_two = [before, self.module.weights(model)]
        for check in self._law(model, *self._last_two, done=3 + LATE):
            yield check

    def _momentum_steps(self):
        return self.oracle.momentum_steps(self.conventions)

    def _momentum_run(self):
        """(model, weights after each of three steps, in two passes) of the momentum model."""

        def run():
            pairs = [pair[:2] for pair in self._momentum_steps()]
            model = self._build(self.oracle.momentum_hp, self.oracle.biased)
            ours = [weights for _, weights in self._train(model, pairs[:2])]
            # Of a batch's size, so that a state that is kept would fit.
            self._interlude(model, self.oracle.test_images[:MOMENTUM_BATCH])
            ours += [weights for _, weights in self._train(model, pairs[2:3])]
            self._last_two = [self.oracle.biased] + ours
            return model, ours

        return self._once("momentum", run)

    def _law(self, model, before, after, done, steps=3):
        """Each of ``steps`` more updates follows from the last one and the reference's gradient."""
        hp = self.oracle.momentum_hp
        late = updates.follow(
            self.oracle, hp, self.conventions, self._train, model, before, after, steps
        )
        for number, (start, ours, step) in enumerate(late, done + 1):
            self._last_two = [start, ours]
            for check in self._updates("step %d, " % number, start, ours, step):
                yield check

    def trajectory(self):
        """The loss of each of 20 steps, in two passes, with another model trained between them."""
        exact, rounded, units, _, _ = self.oracle.trajectory(self.conventions)
        _, ours, checks = self._recipe_run()
        finite = [loss if np.isfinite(loss) else None for loss in ours]  # JSON knows no NaN
        self.losses = OrderedDict(
            [
                ("reference", list(exact)),
                ("reference_float32", list(rounded)),
                ("framework", finite),
            ]
        )
        for check in checks:
            yield check
        missing = abs(len(exact) - len(ours))
        yield Check("losses missing", missing, 0, "train() gave %d losses" % len(ours))
        for step, (e, o) in enumerate(zip(exact, ours), 1):
            # Rounding errors grow from step to step, so the unit never shrinks; and one step's may
            # be small by luck, so it is of five at least.
            tolerance = self.oracle.multiple * max(units[: max(step, 5)])
            if step == 1:  # no update has strayed yet, and the scores have been compared
                tolerance = self.oracle.multiple * max(
                    units[0], 2 * np.finfo(np.float32).eps * abs(e)
                )
            what = "step %d" % step
            detail = "the loss of %s is %.7g, not %.7g" % (what, o, e)
            if step > STEPS // 2:
                detail += "; the second pass began at step %d" % (STEPS // 2 + 1)
            yield Check(what, abs(o - e), tolerance, detail)
        largest = max(abs(o - e) for e, o in zip(exact, ours))
        strayed = max(abs(r - e) for e, r in zip(exact, rounded))
        # The reference may stray because its rounding tipped a ReLU, where another's did not; but
        # no float32 gives each of these losses rightly rounded.
        rightly = all(abs(o - e) <= np.spacing(np.float32(abs(e))) for e, o in zip(exact, ours))
        yield Check(
            "too exact for float32",
            rightly and strayed / TOO_EXACT > largest,
            0,
            "the losses are within %.1e of float64's, where float32 strays by %.1e: what was "
            "computed was not float32" % (largest, strayed),
        )

    def _recipe_run(self):
        """(model, losses, checks of the momentum model between the passes) of the recipe model."""

        def run():
            other = self._other_model()
            model = self._build(self.oracle.recipe_hp, self.oracle.weights)
            half, losses = STEPS // 2, []
            passes = [
                [self._load(images, labels) for images, labels in part]
                for part in (self.oracle.pairs[:half], self.oracle.pairs[half:])
            ]
            # All are taken before the first is read, as a run does that does not wait.
            losses += [float(loss) for loss in list(self.module.train(model, passes[0]))]
            checks = []
            for check in self._two_models(other):
                checks.append(check)
                if not check.passed:  # one that another model has moved may not train any more
                    break
            self._interlude(model, self.oracle.test_images)
            losses += [float(loss) for loss in list(self.module.train(model, passes[1]))]
            return model, losses, checks

        return self._once("recipe", run)

    def _other_model(self):
        """One that was built before the recipe model."""
        return self._momentum_run()[0]

    def _two_models(self, other):
        """A model that was not trained has not moved, and goes on where it stood."""
        before, left = self._last_two[-2:]
        here = self.module.weights(other)
        moved = [name for name in left if not np.array_equal(left[name], here[name])]
        detail = "training one model moved another: %s" % ", ".join(moved)
        yield Check("two models", len(moved), 0, detail)
        images = self.oracle.test_images[:64]
        exact, allowed = self.oracle.scores(None, here, images)
        scores = self._scores(other, images)
        check = self._scores_check("two models, scores", exact, allowed, scores)
        check.detail = check.detail or "predict() gives another model's scores"
        yield check
        if "momentum" in self.model.traits:
            for check in self._law(other, before, left, 0, steps=1):
                check.what = "two models, " + check.what
                check.detail = "after another model was trained, " + check.detail
                yield check
        else:
            images, labels, step = self._momentum_steps()[3]
            ((_, ours),) = self._train(other, [(images, labels)])
            for check in self._updates("two models, ", left, ours, step):
                check.detail = "after another model was trained, " + check.detail
                yield check

    def dropout(self):
        """In training each layer keeps and scales as it should; in prediction none is dropped."""
        _, pairs, model = self._probe_run()
        tied = {"one": 1, "all": 4}[self.conventions.ties]
        try:
            first, second, third = (self.masks.observe(*pair, tied=tied) for pair in pairs)
        except ValueError as error:
            yield Check("values kept", np.inf, 0, str(error))
            return
        for checks in (
            dropout.fractions([first, second, third], self.oracle.products),
            dropout.shared(first),
            dropout.repeated([first, second, third]),
            dropout.alike("between two steps", first, second),
            dropout.alike("between two passes", first, third),
            dropout.alike("between two passes, later", second, third),
            dropout.correlated(first),
            dropout.backward(first, self.oracle.products),
            self._prediction(model),
            self._seeds(first, tied),
        ):
            for check in checks:
                yield check

    def _prediction(self, model):
        """Scores of the probe model, trained with dropout, are those of the network without."""
        images = self.oracle.test_images[:32]
        weights = self.module.weights(model)
        exact, rounded = (
            self.masks.telling(one.scores(self.oracle.recipe_hp, weights, images))
            for one in self.oracle.references()
        )
        error = distance(exact, self.masks.telling(self._scores(model, images)))
        detail = "prediction differs from the network without dropout"
        yield Check(
            "scores in prediction", error, self.oracle.multiple * unit(exact, rounded), detail
        )

    def _seeds(self, seen, tied):
        """The same seed gives the same masks, another seed gives others."""
        batch = self.masks.batch(self.model, PROBE_BATCH)[1:]
        found = {}
        try:
            for seed in (SEED, SEED + 1):
                model, weights = self._probe(seed)
                self._interlude(model, batch[0][:1])
                ((_, after),) = self._train(model, [batch])
                found[seed] = self.masks.observe(weights, after, tied)
        finally:
            self.module.configure(self.lane, self.threads, SEED)
        again, other = found[SEED], found[SEED + 1]
        differ = sum(
            np.count_nonzero((np.abs(a) > masks.DROPPED) != (np.abs(b) > masks.DROPPED))
            for a, b in zip(seen.layers.values(), again.layers.values())
        )
        yield Check("same seed", differ, 0, "the same seed gives other masks")
        for check in dropout.alike("with another seed", seen, other):
            yield check

    def accuracy(self):
        """After the recipe's 20 steps every score is the reference's; evaluate() counts rightly."""
        scores, labels, right = self.task.graded()
        measured = float(self.module.evaluate(scores, labels))
        detail = "evaluate() gives %.4f where the %s is %.4f" % (
            measured,
            self.model.task.figure,
            right,
        )
        yield Check("rows counted", abs(measured - right), 1e-6, detail)
        model, _, _ = self._recipe_run()
        _, _, _, exact, allowed = self.oracle.trajectory(self.conventions)
        scores = self._scores(model, self.oracle.test_images)
        yield self._scores_check("scores after 20 steps", exact, allowed, scores)
        # Of the module's own weights, and so without what rounding has made of them in 20 steps.
        exact, allowed = self.oracle.scores(
            None, self.module.weights(model), self.oracle.test_images[:64]
        )
        check = self._scores_check("scores of the weights left", exact, allowed, scores[:64])
        check.detail = check.detail or "predict() does not use the weights that training left"
        yield check

    def certify(self, name, module, lane, report=lambda rung: None):
        """Climb all rungs with ``module``; the certificate as a dict of JSON values.

        ``report`` is called with each rung's result as it falls.
        """
        self.take(module, lane)
        rungs = []
        for rung in self.rungs:
            rungs.append(self.climb(rung))
            report(rungs[-1])
        return OrderedDict(
            [
                ("framework", name),
                ("model", self.model.name),
                ("lane", lane),
                ("passed", all(rung["passed"] for rung in rungs)),
                ("multiple", self.oracle.multiple),
                ("rungs", rungs),
                ("losses", self.losses),
                ("settings", self.settings),
            ]
            + [(key, getattr(self.conventions, key)) for key in self._applies()]
        )

    def _raised(self, error):
        return Check("ran", np.inf, 0, "%s: %s" % (type(error).__name__, error))

    def climb(self, rung, stop_early=False):
        """One rung's result: its worst check, and what the first check that failed has to say.

        ``stop_early``: make no check behind one that failed.
        """
        climbing = {"weights": self.weights_kept}.get(rung) or getattr(self, rung)
        checks = []
        try:
            with np.errstate(invalid="ignore"):  # masks have no number where they are not seen
                for check in climbing():
                    checks.append(check)
                    if stop_early and not check.passed:
                        break
        except Exception as error:  # a port that raises has failed this rung, and is told why
            checks.append(self._raised(error))
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
