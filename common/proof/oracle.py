"""The reference's results for the rungs: batches that are near no kink, steps, losses, scores.

They do not depend on the module under test. Slow, small results go into a ``ReferenceCache``.
Weights do not: they are large, and a few steps on small batches recompute them in a second.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from common.data import batches
from common.networks import hyperparameters
from common.proof import kinks, probes, tasks
from common.proof.masks import DROPPED
from common.proof.reference import (
    MULTIPLES,
    ROUNDED,
    USUAL,
    Reference,
    give_masks,
    pair,
    unit,
)

SEED = 0  # of weights, batches and images
STEPS = 20  # of the recipe model
SEARCHED = 1280  # images among which some near no kink are searched; fewer if images are large
LATE = 60  # steps without gradient before one that is compared, for Adam
LONG_STEPS = 72  # of a long run
PUSHED, COMPARED = 12, 6  # every twelfth step has a gradient, every sixth is compared
PERTURBED = 8  # float32 trajectories from weights perturbed by their rounding, with Adam
PERTURBED_MIXED = 2  # the same with fewer digits in products
BATCHES_MIXED = 4  # from which the unit of a late step is then taken
ONE_BRIGHT_OF = 8  # one image in so many is bright
FAINT = 0.05  # the contrast left in an image whose brightness alone should open ReLUs
GRADIENT_BATCH, MOMENTUM_BATCH, PROBE_BATCH = 16, 4, 16  # none is the recipe's; one step has that
MOMENTUM_STEPS = 3  # that are compared one by one


class Step:
    """The reference's weights after a step, exact and in float32, and the unit of each tensor."""

    def __init__(self, exact, rounded):
        self.exact, self.rounded = exact, rounded
        self.units = {name: unit(w, rounded[name]) for name, w in exact.items()}


class Training:
    """The reference in both precisions, trained side by side."""

    def __init__(self, references, hp, weights, before=None):
        """before: the weights one step ago, which determine the velocity."""
        self.references = references
        self.models = [reference.model(hp, weights, before) for reference in references]

    def step(self, images, labels):
        """Train on one batch, and return the ``Step``."""
        self.train(images, labels)
        return self.now()

    def train(self, images, labels):
        """Train on one batch."""
        for reference, model in zip(self.references, self.models):
            batch = reference.module.load(images, labels, reference.settings)
            for _ in reference.module.train(model, [batch]):
                pass

    def coast(self):
        """Make a step with a gradient of 0: only the optimiser's state moves weights."""
        for _, _, optimizer in self.models:
            for gradient in optimizer.gradients:
                gradient[:] = 0
            optimizer.step()

    def outputs(self, observations):
        """The exact reference's outputs: as targets, they leave only a gradient of rounding."""
        reference, model = self.references[0], self.models[0]
        x, _ = reference.module.load(observations, None, reference.settings)
        return np.float32(reference.module.predict(model, x)[:, : x.shape[1]])

    def now(self):
        """The weights as a ``Step``."""
        return Step(
            *(reference.module.weights(m) for reference, m in zip(self.references, self.models))
        )


class Oracle:
    """The reference of one model.

    cache: a dict of arrays, such as a ``ReferenceCache``. products: their precision.
    """

    def __init__(self, model, threads, cache, products="float32"):
        self.model, self.threads, self.cache, self.products = model, threads, cache, products
        self.multiple = MULTIPLES[products]
        self.gradient_hp = hyperparameters.plain(model.hp, GRADIENT_BATCH)
        self.whole_hp = hyperparameters.plain(model.hp, model.hp.batch_size)
        self.momentum_hp = hyperparameters.other(model.hp, MOMENTUM_BATCH)
        self.recipe_hp = hyperparameters.without_dropout(model.hp)
        self.weights = model.initialize(model.shapes, SEED)
        self.biased = probes.biased(model, SEED)
        self.task = tasks.of(model)
        self.long_hp = hyperparameters.long(model.hp, MOMENTUM_BATCH)
        self.long_weights = self.task.long_run(self.biased)
        self.fixed_output = self.task.fixed_output(self.biased)
        self.split_relus = probes.split_relus(model, SEED) if "batchnorm" in model.traits else None
        # With Adam, whatever begins late shows in a step after many steps without gradient.
        adam = "adam" in model.traits
        self.bright_hp = self.gradient_hp._replace(beta2=1 - 2.0**-7) if adam else self.gradient_hp
        self.zero_gradient_steps = LATE if adam else 1
        size = model.hp.batch_size
        searched = min(SEARCHED, SEARCHED * 32**2 * 3 // int(np.prod(model.observation)))
        count = max(STEPS * size, searched)
        self.images, self.labels = self.task.observations(count, SEED)
        self.test_images, _ = self.task.observations(self.task.predicted, SEED + 1)
        first = slice(STEPS * size)
        self.pairs = list(batches.batches(self.images[first], self.labels[first], size, SEED, 0))
        self._references, self._steps = {}, {}
        self.chosen = {}  # {key: indices of the images that ``clear`` found, or must take}
        if "schedule" in model.traits:
            self.momentum_hp = self.momentum_hp._replace(clip=self._limit())

    def references(self, conventions=USUAL):
        """The exact reference, and the one whose distance from it is the unit."""
        if conventions not in self._references:
            self._references[conventions] = pair(
                self.model, self.threads, conventions, self.products
            )
        return self._references[conventions]

    def _cached(self, key, compute):
        key = key if self.products == "float32" else "%s, %s" % (key, self.products)
        if key not in self.cache:
            self.cache[key] = compute()
        return self.cache[key]

    def _limit(self):
        """A limit that some of the momentum model's steps clip to, and some do not.

        Both kinds are needed, because Adam does not see a factor that all steps have in common.
        """

        def norms():
            hp = self.momentum_hp._replace(clip=hyperparameters.NEVER_CLIPPED)
            training, found = Training(self.references(), hp, self.biased), []
            for first in range(0, MOMENTUM_STEPS * MOMENTUM_BATCH, MOMENTUM_BATCH):
                rows = slice(first, first + MOMENTUM_BATCH)
                training.train(self.images[rows], self.labels[rows])
                gradients = training.models[0][2].gradients
                found.append(np.sqrt(sum((g.astype(float) ** 2).sum() for g in gradients)))
            return np.array(found)

        found = self._cached("norms of the momentum steps", norms)
        return float("%.2g" % np.sqrt(found.min() * found.max()))

    def clear(self, key, count, hp, weights, rounded=None, bright=False, start=0):
        """``count`` images near no kink under ``weights``, and their labels; cached under ``key``.

        NearKink if there is no such image. With fewer digits in products, every image has kinks
        that rounding flips, in the reference too, so any image is taken.

        key: None caches nothing, because the weights are a module's own. rounded: the weights that
        float32 has reached, if they differ. bright: make images 64 times as bright. start: the
        first image that is tried; steps with different images show what is kept for a row or a
        word. With batch normalisation, the batch from there on is clear or not as a whole.
        """
        images, labels = self.images, self.labels
        if bright:
            images, labels = self.task.bright(images, labels)
        both = weights, weights if rounded is None else rounded

        def search():
            if self.products != "float32":
                return np.arange(start, start + count)
            networks = [
                reference.model(hp, own)[0] for reference, own in zip(self.references(), both)
            ]
            if "batchnorm" in self.model.traits:
                chosen = np.arange(start, start + count)
                clear = kinks.clear(self.references(), networks, images[chosen], training=True)
                return chosen[: count if clear.all() else 0]
            indices, first, size = [], start, 16
            while len(indices) < count and first < len(images):
                part = images[first : first + size]
                clear = kinks.clear(self.references(), networks, part)
                indices += list(first + np.flatnonzero(clear))
                first += size
            return np.array(indices[:count])

        if key in self.chosen:
            chosen = self.chosen[key]
        else:
            chosen = search() if key is None else self._cached(key, search)
        if not len(chosen):
            raise kinks.NearKink("every image is near a kink, or the weights are not finite")
        if key is not None:
            self.chosen[key] = chosen
        chosen = np.resize(chosen, count)  # repeated if too few are clear
        return images[chosen], labels[chosen]

    def scores(self, key, weights, images):
        """(exact scores, their unit) of ``images``; cached under ``key`` unless it is None."""

        def compute():
            both = [
                reference.scores(self.recipe_hp, weights, images) for reference in self.references()
            ]
            return np.append(both[0], unit(*both))

        values = compute() if key is None else self._cached(key, compute)
        return values[:-1].reshape((len(images),) + self.task.outputs), float(values[-1])

    def zero_gradient_batch(self):
        """A batch whose gradient is 0 with the weights ``fixed_output``."""
        images, _ = self.task.bright(self.images[:GRADIENT_BATCH], self.labels[:GRADIENT_BATCH])
        return images, self.task.zero_gradient_targets(GRADIENT_BATCH)

    def plain_step(self, conventions):
        """(images, labels, ``Step``) of the gradient model."""

        def compute():
            pair = self.clear("gradient", GRADIENT_BATCH, self.gradient_hp, self.biased)
            if "momentum" in self.model.traits:  # Adam turns a large gradient into a step of 1
                pair = pair[0], self.task.large_gradient_targets(pair[1])
            training = Training(self.references(conventions), self.gradient_hp, self.biased)
            return pair + (training.step(*pair),)

        return self._once(("plain", conventions), compute)

    def whole_step(self, conventions):
        """(images, labels, ``Step``) of a plain step with the recipe's batch size.

        Libraries choose their kernels by size. The images are those of ``plain_step``, repeated.
        """

        def compute():
            images, labels, _ = self.plain_step(conventions)
            rows = np.resize(np.arange(len(images)), self.whole_hp.batch_size)
            batch = images[rows], labels[rows]
            training = Training(self.references(conventions), self.whole_hp, self.biased)
            return batch + (training.step(*batch),)

        return self._once(("whole", conventions), compute)

    def bright_step(self, conventions):
        """(images, labels, ``Step``) of the bright model, after its steps without gradient."""

        def compute():
            pair = self.clear(
                "bright", GRADIENT_BATCH, self.bright_hp, self.fixed_output, bright=True
            )
            training = Training(self.references(conventions), self.bright_hp, self.fixed_output)
            training.train(*self.zero_gradient_batch())
            for _ in range(self.zero_gradient_steps - 1):
                training.coast()
            return pair + (training.step(*pair),)

        return self._once(("bright", conventions), compute)

    def split_relus_step(self, conventions):
        """(images, labels, ``Step``) of the split model, for batch normalisation.

        One image in eight is bright.
        """

        def compute():
            images, labels = self.images[:GRADIENT_BATCH], self.labels[:GRADIENT_BATCH]
            bright = np.arange(len(images)) % ONE_BRIGHT_OF == 0
            lit = np.where(bright, 1, -1).reshape(-1, 1, 1, 1)
            images = np.float32(lit + images * FAINT)
            networks = [
                reference.model(self.gradient_hp, self.split_relus)[0]
                for reference in self.references()
            ]
            if not kinks.clear(self.references(), networks, images, training=True).all():
                raise ValueError("an image is near a kink")
            training = Training(self.references(conventions), self.gradient_hp, self.split_relus)
            return images, labels, training.step(images, labels)

        return self._once(("split relus", conventions), compute)

    def fixed_output_update(self, conventions, hp, weights, batch):
        """The update of the last bias in one step of a model with fixed output, in float64."""

        def compute():
            reference = self.references(conventions)[0]
            model = reference.model(hp, weights)
            list(reference.module.train(model, [batch]))
            last = list(weights)[-1]
            return reference.module.weights(model)[last] - weights[last]

        return self._once(("fixed output", conventions), compute)

    def momentum_steps(self, conventions):
        """[(images, labels, ``Step``)] of the momentum model's three steps; with Adam, four."""

        def compute():
            training = Training(self.references(conventions), self.momentum_hp, self.biased)
            steps, weights = [], (self.biased, self.biased)
            for number in range(MOMENTUM_STEPS + ("adam" in self.model.traits)):
                key = " ".join(("momentum", str(number)) + conventions)
                start = number * MOMENTUM_BATCH
                pair = self.clear(key, MOMENTUM_BATCH, self.momentum_hp, *weights, start=start)
                if number == MOMENTUM_STEPS:
                    pair = pair[0], self.task.large_gradient_targets(pair[1])
                step = training.step(*pair)
                steps.append(pair + (step,))
                weights = step.exact, step.rounded
            return steps

        return self._once(("momentum", conventions), compute)

    def long_run(self, conventions):
        """Yield (images, targets, ``Step`` or None) for each step of the long model.

        Every twelfth step, from the first, has a gradient. In the others only the optimiser's state
        moves weights. Every sixth step has a ``Step``, whose running means and variances are not to
        be compared.
        """
        training = Training(self.references(conventions), self.long_hp, self.long_weights)
        weights = self.long_weights, self.long_weights
        for number in range(LONG_STEPS):
            step = None
            if number % PUSHED == 0:
                key = " ".join(("long", str(number)) + conventions)
                batch = self.clear(key, MOMENTUM_BATCH, self.long_hp, *weights, start=number)
                batch = batch[0], self.task.long_run_push(batch[1])
                training.train(*batch)
            else:
                images = self.images[:MOMENTUM_BATCH]
                batch = images, self.task.long_run_targets(MOMENTUM_BATCH)
                if batch[1] is None:
                    batch = images, training.outputs(images)
                    training.train(*batch)
                else:
                    training.coast()
            if (number + 1) % COMPARED == 0:
                step = training.now()
                weights = step.exact, step.rounded
            yield batch + (step,)

    def masked_step(self, conventions, hp, before, batch, masks):
        """The ``Step`` of a batch with these masks of its first observations, {number: mask}."""
        training = Training(self.references(conventions), hp, before)
        kept = {}
        for number, mask in masks.items():
            kept[number] = np.ones((len(batch[0]),) + mask.shape[1:], bool)
            kept[number][: len(mask)] = ~(np.abs(mask) < DROPPED)  # kept where mask is NaN
        for network, _, _ in training.models:
            give_masks(network, kept)
        return training.step(*batch)

    def _once(self, key, compute):
        if key not in self._steps:
            self._steps[key] = compute()
        return self._steps[key]

    def next_step(self, hp, before, weights, images, labels, conventions):
        """The correct next ``Step`` after one that led from ``before`` to ``weights``.

        Only for gradient descent with momentum, where these two determine the whole state. With
        fewer digits in products, images are near kinks, and rounding flips none in one batch and
        many in the next. So the unit is the largest of several batches.
        """

        def step(images, labels):
            return Training(self.references(conventions), hp, weights, before).step(images, labels)

        result, size = step(images, labels), len(images)
        if self.products != "float32":
            for first in range(size, BATCHES_MIXED * size, size):
                batch = slice(first, first + size)
                others = step(self.images[batch], self.labels[batch]).units
                result.units = {name: max(own, others[name]) for name, own in result.units.items()}
        return result

    def trajectory(self, conventions):
        """(exact losses, float32 losses, units, exact scores of the test images, their unit).

        Here rounding may flip a ReLU or a pool in one run and not in the next. So float32 runs
        several times, from weights perturbed by their own rounding, and the largest error is the
        unit. Adam needs the most runs, because its step has full length however small the gradient
        is: one ReLU flipped in step 10 moves the MLP's loss by 1e-5 in step 11 and 1e-3 in step 18.
        """

        def perturbed(seed):
            random = np.random.RandomState(seed)
            return {
                name: (w * (1 + 2.0**-24 * random.choice([-1, 1], w.shape))).astype(np.float32)
                for name, w in self.weights.items()
            }

        def compute():
            exact, rounded = self.references(conventions)
            throughout = Reference(
                self.model, ROUNDED, self.threads, conventions, ROUNDED, self.products
            )
            jobs = [(exact, self.weights), (rounded, self.weights)]
            usual = PERTURBED_MIXED if self.products != "float32" else 1
            kinks_and_adam = "adam" in self.model.traits and "attention" not in self.model.traits
            count = PERTURBED if kinks_and_adam else usual
            jobs += [(throughout, perturbed(seed)) for seed in range(SEED, SEED + count)]
            runs = self._side_by_side(jobs)
            (losses, scores), others = runs[0], runs[1:]
            units = [max(unit(losses[i], other[0][i]) for other in others) for i in range(STEPS)]
            largest = max(unit(scores, other[1]) for other in others)
            return np.concatenate([losses, others[0][0], units, scores.ravel(), [largest]])

        values = self._cached(" ".join(("trajectory",) + conventions), compute)
        losses, rounded, units, scores = np.split(values[:-1], [STEPS, 2 * STEPS, 3 * STEPS])
        scores = scores.reshape((self.task.predicted,) + self.task.outputs)
        return losses, rounded, units, scores, float(values[-1])

    def _side_by_side(self, jobs):
        """``_run`` for each (reference, weights), one per core: most of NumPy uses one thread."""
        stopped = threading.Event()
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(self.threads) as pool:
            try:
                return list(pool.map(lambda job: self._run(*job, stopped=stopped), jobs))
            except BaseException:  # Ctrl-C would leave the threads running
                stopped.set()
                raise

    def _run(self, reference, weights, stopped):
        """(losses, scores of the test images) after the recipe's steps."""
        module, settings = reference.module, reference.settings
        model = reference.model(self.recipe_hp, weights)
        loaded = (module.load(images, labels, settings) for images, labels in self.pairs)
        losses = []
        for loss in module.train(model, loaded):
            losses.append(float(loss))
            if stopped.is_set():
                return None
        x, _ = module.load(self.test_images, self.task.none(self.task.predicted), settings)
        return losses, reference.predict(model, x)
