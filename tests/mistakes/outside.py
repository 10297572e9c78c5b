"""Mistakes that are put into any framework's module from outside, by wrapping its functions.

Each makes of a module that keeps the contract one that is wrong in one way. An update cannot be
changed from outside; so where that is the mistake, ``weights`` tells of other updates than were
made, as a module would whose updates were those.
"""

import numpy as np

from common.networks.hyperparameters import without_dropout
from common.networks.models import state
from common.proof.reference import CHOICES, named
from common.system.modules import replaced
from tests.mistakes.mistake import Mistake


def with_hp(module, change):
    """``module`` whose symbol() and loss() see what ``change`` made of the hyperparameters."""
    return replaced(
        module,
        symbol=lambda settings, hp: module.symbol(settings, change(hp)),
        loss=lambda network, settings, hp, weights: module.loss(
            network, settings, change(hp), weights
        ),
    )


def with_weights(module, put, take=lambda weights: weights):
    """``module`` that changes weights on the way in, and back on the way out."""

    def loss(network, settings, hp, weights):
        return module.loss(network, settings, hp, put(weights))

    return replaced(module, loss=loss, weights=lambda model: take(module.weights(model)))


def with_updates(module, change):
    """``module`` that tells of other updates than it made.

    ``change(steps, before, update, hp)`` gives what is told instead of ``update``, {name: array},
    the change that step number ``steps`` made to the weights ``before``.
    """

    class Wrapped:
        def __init__(self, model, hp, names):
            self.model, self.hp, self.names, self.steps = model, hp, names, 0
            self.true = self.now()
            self.told = dict(self.true)

        def now(self):
            """The weights, in the order of the layers, whatever the module's."""
            found = module.weights(self.model)
            return {n: found[n].astype(np.float64) for n in self.names}

    def loss(network, settings, hp, weights):
        return Wrapped(module.loss(network, settings, hp, weights), hp, list(weights))

    def train(wrapped, batches):
        for value in module.train(wrapped.model, batches):
            wrapped.steps += 1
            after = wrapped.now()
            update = {n: after[n] - wrapped.true[n] for n in after}
            told = change(wrapped.steps, wrapped.told, update, wrapped.hp)
            wrapped.told = {n: wrapped.told[n] + told[n] for n in after}
            wrapped.true = after
            yield value

    return replaced(
        module,
        loss=loss,
        train=train,
        predict=lambda wrapped, x: module.predict(wrapped.model, x),
        weights=lambda wrapped: {n: w.astype(np.float32) for n, w in wrapped.told.items()},
        wait=lambda wrapped: module.wait(wrapped.model),
        told=True,  # the module itself goes on with the updates that it made
    )


# data


def height_and_width_swapped(module):
    """As swapping axes 1 and 3 does on the way to channels-last."""

    def load(images, labels, settings):
        return module.load(np.ascontiguousarray(images.swapaxes(2, 3)), labels, settings)

    return replaced(module, load=load)


def labels_off_by_one(module):
    """Class numbers that begin at 1."""

    def load(images, labels, settings):
        return module.load(images, (labels + 1) % 10, settings)

    return replaced(module, load=load)


def own_batch_order(module):
    """The framework's own loader shuffles once more."""

    def train(model, batches):
        batches = list(batches)
        order = np.random.RandomState(1).permutation(len(batches))
        return module.train(model, [batches[i] for i in order])

    return replaced(module, train=train)


# weights


def biases_not_zero(module):
    """The framework's own initial biases are left in place."""

    def put(weights):
        return {n: w + np.float32(0.01) if w.ndim == 1 else w for n, w in weights.items()}

    return with_weights(module, put)


def biases_ignored(module):
    """Given biases are not put in; initial ones are zero anyway, but trained ones are not."""

    def put(weights):
        first = next(name for name in weights if name.endswith(".bias"))
        return dict(weights, **{first: np.zeros_like(weights[first])})

    return with_weights(module, put)


def claims_bfloat16(module):
    """float32, called by another name."""

    def configure(lane, threads, seed):
        return dict(module.configure(lane, threads, seed), precision="bfloat16")

    return replaced(module, configure=configure)


# forward


def biases_swapped(module):
    """Two of a size change places on the way in, and back on the way out."""

    def swap(weights):
        first, second = weights["conv1.bias"], weights["conv2.bias"]
        return dict(weights, **{"conv1.bias": second, "conv2.bias": first})

    return with_weights(module, swap, swap)


def kernel_flipped(module):
    """True convolution where the others cross-correlate, as in Theano's default."""

    def flip(weights):
        return {
            name: w[:, :, ::-1, ::-1].copy() if w.ndim == 4 else w for name, w in weights.items()
        }

    return with_weights(module, flip, flip)


def channels_last_flatten(module):
    """Dense weights for C, H, W put behind a flatten in the order H, W, C."""

    def put(weights):
        dense = weights["dense1.weight"].reshape(512, 8, 8, 100).transpose(0, 3, 1, 2)
        return dict(weights, **{"dense1.weight": dense.reshape(512, 6400).copy()})

    def take(weights):
        dense = weights["dense1.weight"].reshape(512, 100, 8, 8).transpose(0, 2, 3, 1)
        return dict(weights, **{"dense1.weight": dense.reshape(512, 6400).copy()})

    return with_weights(module, put, take)


def rows_of_a_prediction_out_of_order(module):
    """The chunks that predict() works in are put together in another order."""

    def predict(model, x):
        chunks = [module.predict(model, x[i : i + 64]) for i in range(0, len(x), 64)]
        return np.concatenate(chunks[::-1])

    return replaced(module, predict=predict)


def last_partial_batch_lost(module):
    """The rows behind the last whole batch get no scores."""

    def predict(model, x):
        scores = module.predict(model, x)
        return np.concatenate([scores[: len(x) // 64 * 64], 0 * scores[len(x) // 64 * 64 :]])

    return replaced(module, predict=predict)


def scores_in_half_precision(module):
    """Scores that went through float16."""

    def predict(model, x):
        return module.predict(model, x).astype(np.float16).astype(np.float32)

    return replaced(module, predict=predict)


# gradient


def loss_summed(module):
    """The sum over the batch, where the others have the mean."""

    def change(hp):
        return hp._replace(learning_rate=hp.learning_rate * hp.batch_size)

    return with_hp(module, change)


def batch_size_written_in(module):
    """The gradient is divided by the recipe's batch size, whatever the batch."""
    return with_hp(
        module, lambda hp: hp._replace(learning_rate=hp.learning_rate * hp.batch_size / 64)
    )


def learning_rate_written_in(module):
    """A common one, whatever is asked for."""
    return with_hp(module, lambda hp: hp._replace(learning_rate=0.01))


def weight_decay_on_kernels(module):
    """1e-5 of every convolution's kernel."""

    def change(steps, before, update, hp):
        decay = 1e-5 * hp.learning_rate
        return {n: u - decay * before[n] if u.ndim == 4 else u for n, u in update.items()}

    return with_updates(module, change)


def bias_decay(module):
    """1e-6 of every bias."""

    def change(steps, before, update, hp):
        decay = 1e-6 * hp.learning_rate
        return {n: u - decay * before[n] if u.ndim == 1 else u for n, u in update.items()}

    return with_updates(module, change)


def bias_lost_on_the_way_back(module):
    """The bias of the last layer but one gets no gradient."""

    def change(steps, before, update, hp):
        lost = [name for name in update if name.endswith(".bias")][-2]
        return dict(update, **{lost: 0 * update[lost]})

    return with_updates(module, change)


def bias_inside_a_block_lost(module):
    """One normalisation gives its bias no gradient; the next takes away most of what it adds."""

    def change(steps, before, update, hp):
        inside = [name for name in update if name.endswith(".norm2.bias")]
        lost = inside[len(inside) // 2]
        return dict(update, **{lost: 0 * update[lost]})

    return with_updates(module, change)


def gradient_clipped(module):
    """At a norm of 5, which only large gradients reach."""

    def change(steps, before, update, hp):
        norm = np.sqrt(sum(float((u**2).sum()) for u in update.values())) / hp.learning_rate
        return {n: u * min(1, 5 / norm) if norm else u for n, u in update.items()}

    return with_updates(module, change)


def convolution_backward_in_tf32(module):
    """A convolution's gradient is off by TF32's rounding, 2**-11 of each number."""
    return with_rounded_kernels(module, 2.0**-11)


def convolution_backward_in_bfloat16(module):
    """By bfloat16's rounding: in a deep network float32's own error is nearly TF32's."""
    return with_rounded_kernels(module, 2.0**-8)


def with_rounded_kernels(module, part):
    """``module`` whose kernels' updates are off by up to this part of each number."""

    def change(steps, before, update, hp):
        random = np.random.RandomState(steps)
        return {
            n: u * (1 + part * random.uniform(-1, 1, u.shape)) if u.ndim == 4 else u
            for n, u in update.items()
        }

    return with_updates(module, change)


def probability_clipped(module):
    """A probability below 1e-8 is taken for that: the loss of an unlikely label has a ceiling."""

    def train(model, batches):
        for value in module.train(model, batches):
            yield min(float(value), 18.4)

    return replaced(module, train=train)


# momentum


def nesterov(module):
    """The weights are those ahead of the step: w + m v in place of w."""

    def change(steps, before, update, hp):
        last = change.last if steps > 1 else {n: 0 for n in update}
        change.last = update
        return {n: u + hp.momentum * (u - last[n]) for n, u in update.items()}

    return with_updates(module, change)


def scaled_gradient(module):
    """Unit gain: v = momentum v + (1 - momentum) g, CNTK's default."""
    return with_hp(
        module, lambda hp: hp._replace(learning_rate=hp.learning_rate * (1 - hp.momentum))
    )


def momentum_written_in(module):
    """The recipe's, whatever is asked for, if any is."""
    return with_hp(module, lambda hp: hp._replace(momentum=0.9 if hp.momentum else 0.0))


def velocity_reset_each_pass(module):
    """The optimiser's state lives no longer than a pass over the batches."""

    def loss(network, settings, hp, weights):
        return {"model": module.loss(network, settings, hp, weights), "made_of": (settings, hp)}

    def train(wrapped, batches):
        settings, hp = wrapped["made_of"]
        if getattr(hp, "momentum", True) and wrapped.pop("trained", False):
            weights = module.weights(wrapped["model"])
            network = module.symbol(settings, hp)
            wrapped["model"] = module.loss(network, settings, hp, weights)
        wrapped["trained"] = True
        return module.train(wrapped["model"], batches)

    return replaced(
        module,
        loss=loss,
        train=train,
        predict=lambda wrapped, x: module.predict(wrapped["model"], x),
        weights=lambda wrapped: module.weights(wrapped["model"]),
        wait=lambda wrapped: module.wait(wrapped["model"]),
    )


def stops_early(module):
    """A long pass is cut short."""

    def train(model, batches):
        return module.train(model, list(batches)[:12])

    return replaced(module, train=train)


def learning_rate_falls_late(module):
    """By a tenth, after 60 steps."""

    def change(steps, before, update, hp):
        return {n: u * (1 if steps <= 60 else 0.9) for n, u in update.items()}

    return with_updates(module, change)


def state_lost_late(module):
    """The weights stay where they are after 60 steps."""

    def change(steps, before, update, hp):
        return {n: u * (steps <= 60) for n, u in update.items()}

    return with_updates(module, change)


# trajectory


def models_share_state(module):
    """A model that is built takes the place of the one before, as blobs of the same name do."""
    last = {}

    def loss(network, settings, hp, weights):
        last["model"] = module.loss(network, settings, hp, weights)
        return None

    return replaced(
        module,
        loss=loss,
        train=lambda model, batches: module.train(last["model"], batches),
        predict=lambda model, x: module.predict(last["model"], x),
        weights=lambda model: module.weights(last["model"]),
        wait=lambda model: module.wait(last["model"]),
    )


def predicts_with_the_model_built_last(module):
    """The compiled prediction stands in a global, and a further model takes its place."""
    last = {}

    def loss(network, settings, hp, weights):
        last["model"] = module.loss(network, settings, hp, weights)
        return last["model"]

    return replaced(module, loss=loss, predict=lambda model, x: module.predict(last["model"], x))


def losses_rounded(module):
    """The losses come through bfloat16."""

    def train(model, batches):
        for value in module.train(model, batches):
            bits = np.array([float(value)], np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
            yield bits.view(np.float32)[0]

    return replaced(module, train=train)


# dropout


def rate_taken_for_keep(module):
    """TensorFlow 1 asked for the fraction to keep, TensorFlow 2 for the fraction to drop."""

    def symbol(settings, hp):
        rates = tuple(1 - rate if rate else rate for rate in hp.dropout)
        return module.symbol(settings, hp._replace(dropout=rates))

    return replaced(module, symbol=symbol)


def rates_exchanged(module):
    """Those of the first two layers: equal in the recipe, and so never missed."""

    def symbol(settings, hp):
        first, second, *others = hp.dropout
        return module.symbol(settings, hp._replace(dropout=(second, first, *others)))

    return replaced(module, symbol=symbol)


def dropout_forgotten(module):
    """No layer drops anything, as where the training mode is never switched on."""

    def symbol(settings, hp):
        return module.symbol(settings, without_dropout(hp))

    return replaced(module, symbol=symbol)


def seed_ignored(module):
    """Every run draws the same masks."""

    def configure(lane, threads, seed):
        return module.configure(lane, threads, 0)

    return replaced(module, configure=configure)


def seed_from_the_clock(module):
    """The same seed gives two runs."""
    drawn = iter(range(1000, 10000))

    def configure(lane, threads, seed):
        return module.configure(lane, threads, seed + next(drawn))

    return replaced(module, configure=configure)


# accuracy


def half_of_the_rows_counted(module):
    """Accuracy of a part of the rows."""

    def evaluate(scores, labels):
        return module.evaluate(scores[: len(scores) // 2], labels[: len(labels) // 2])

    return replaced(module, evaluate=evaluate)


def two_highest_counted(module):
    """A label among the two highest scores is taken for right."""

    def evaluate(scores, labels):
        return float((scores.argsort(1)[:, -2:] == labels[:, None]).any(1).mean())

    return replaced(module, evaluate=evaluate)


def labels_off_in_evaluation(module):
    """The labels that are compared with begin at 1."""

    def evaluate(scores, labels):
        return module.evaluate(scores, (labels + 1) % 10)

    return replaced(module, evaluate=evaluate)


def predicts_with_stale_weights(module):
    """Scores come from the weights as they were before the last step."""

    class Wrapped:
        def __init__(self, settings, hp, weights):
            self.made_of, self.before, self.last = (settings, hp), weights, None

    def loss(network, settings, hp, weights):
        wrapped = Wrapped(settings, hp, dict(weights))
        wrapped.model = module.loss(network, settings, hp, weights)
        return wrapped

    def train(wrapped, batches):
        for value in module.train(wrapped.model, batches):
            after = module.weights(wrapped.model)
            wrapped.before, wrapped.last = wrapped.last or wrapped.before, after
            yield value

    def predict(wrapped, x):
        settings, hp = wrapped.made_of
        model = module.loss(module.symbol(settings, hp), settings, hp, dict(wrapped.before))
        return module.predict(model, x)

    return replaced(
        module,
        loss=loss,
        train=train,
        predict=predict,
        weights=lambda wrapped: module.weights(wrapped.model),
        wait=lambda wrapped: module.wait(wrapped.model),
    )


# Adam


def with_adam(module, rule):
    """``module`` whose Adam is another one.

    ``rule(hp, step, g, state)`` gives a tensor's update of its gradient, in float64; ``state`` is a
    dict of its own for each tensor. With a huge epsilon and a larger learning rate, a step of the
    module's own Adam is a multiple of the gradient.
    """

    class Wrapped:
        def __init__(self, settings, hp, weights):
            self.settings, self.hp, self.steps = settings, hp, 0
            self.weights = {n: w.astype(np.float64) for n, w in weights.items()}
            self.states = {n: {} for n in weights}

        def model(self, hp):
            weights = {n: w.astype(np.float32) for n, w in self.weights.items()}
            network = module.symbol(self.settings, hp)
            return module.loss(network, self.settings, hp, weights)

    def train(wrapped, batches):
        huge, loud = 2.0**20, 2.0**10
        hp = wrapped.hp._replace(beta1=0.0, beta2=0.0, epsilon=huge, learning_rate=huge * loud)
        for batch in batches:
            model = wrapped.model(hp)
            (value,) = module.train(model, [batch])
            after = module.weights(model)
            wrapped.steps += 1
            for name, w in wrapped.weights.items():
                g = (w.astype(np.float32).astype(np.float64) - after[name]) / loud
                update = rule(wrapped.hp, wrapped.steps, g, wrapped.states[name])
                wrapped.weights[name] = w + update
            yield value

    def configure(lane, threads, seed):
        settings = module.configure(lane, threads, seed)
        return dict(settings, adam_epsilon="corrected", adam_scalars="float64")

    return replaced(
        module,
        configure=configure,
        loss=lambda network, settings, hp, weights: Wrapped(settings, hp, weights),
        train=train,
        predict=lambda wrapped, x: module.predict(wrapped.model(wrapped.hp), x),
        weights=lambda wrapped: {n: w.astype(np.float32) for n, w in wrapped.weights.items()},
        wait=lambda wrapped: None,
    )


def moments(hp, step, g, state):
    """Adam's mean and mean square of the gradients so far, not yet corrected."""
    state["m"] = hp.beta1 * state.get("m", 0) + (1 - hp.beta1) * g
    state["v"] = hp.beta2 * state.get("v", 0) + (1 - hp.beta2) * g * g
    return state["m"], state["v"]


def corrected(hp, step, m, v):
    """The update that the paper makes of moments, corrected as those of this step."""
    m, v = m / (1 - hp.beta1**step), v / (1 - hp.beta2**step)
    return -hp.learning_rate * m / (np.sqrt(v) + hp.epsilon)


def as_in_the_paper(hp, step, g, state):
    """The right rule."""
    return corrected(hp, step, *moments(hp, step, g, state))


def epsilon_inside_the_root(module):
    """sqrt(v + epsilon), as in RMSProp in some frameworks."""

    def rule(hp, step, g, state):
        m, v = moments(hp, step, g, state)
        m, v = m / (1 - hp.beta1**step), v / (1 - hp.beta2**step)
        return -hp.learning_rate * m / np.sqrt(v + hp.epsilon)

    return with_adam(module, rule)


def bias_not_corrected(module):
    """The moments are taken as they are, though they begin at 0."""

    def rule(hp, step, g, state):
        m, v = moments(hp, step, g, state)
        return -hp.learning_rate * m / (np.sqrt(v) + hp.epsilon)

    return with_adam(module, rule)


def bias_corrected_one_step_behind(module):
    """The number of the step is raised after the update."""

    def rule(hp, step, g, state):
        return corrected(hp, max(step - 1, 1), *moments(hp, step, g, state))

    return with_adam(module, rule)


def largest_square_kept(module):
    """AMSGrad's, in place of the last one."""

    def rule(hp, step, g, state):
        m, v = moments(hp, step, g, state)
        state["largest"] = np.maximum(state.get("largest", 0), v)
        return corrected(hp, step, m, state["largest"])

    return with_adam(module, rule)


def correction_stops_counting(module):
    """The number of the step in the correction stays at 32."""

    def rule(hp, step, g, state):
        return corrected(hp, min(step, 32), *moments(hp, step, g, state))

    return with_adam(module, rule)


def betas_exchanged(module):
    """beta2 for the mean, and beta1 for the square."""
    return with_hp(module, lambda hp: hp._replace(beta1=hp.beta2, beta2=hp.beta1))


def betas_written_in(module):
    """0.9 and 0.999, whatever is asked for, unless that is none."""

    def change(hp):
        return hp._replace(beta1=0.9, beta2=0.999) if hp.beta1 else hp

    return with_hp(module, change)


def epsilon_written_in(module):
    """Keras's default, whatever is asked for."""
    return with_hp(module, lambda hp: hp._replace(epsilon=1e-7))


def epsilon_named_wrongly(module):
    """The settings say the other of the two places where Adam may add it."""
    right = {}

    def configure(lane, threads, seed):
        settings = module.configure(lane, threads, seed)
        right.update(settings)
        (other,) = set(CHOICES.adam_epsilon) - {named(settings).adam_epsilon}
        return dict(settings, adam_epsilon=other)

    return replaced(  # the reference would do as its settings say
        module,
        configure=configure,
        loss=lambda network, settings, hp, weights: module.loss(network, right, hp, weights),
    )


# LSTM


def gates(weights, change):
    """``weights`` with each of the LSTM's tensors, as (4, units, ...), changed."""
    found = dict(weights)
    for name, w in weights.items():
        if name.startswith("lstm."):
            quarters = w.reshape((4, -1) + w.shape[1:])
            found[name] = np.ascontiguousarray(change(name, quarters)).reshape(w.shape)
    return found


def gates_in_another_order(module):
    """Input, forget, output, cell, as TensorFlow's BlockLSTM nearly has them."""

    def swap(weights):
        return gates(weights, lambda name, quarters: quarters[[0, 1, 3, 2]])

    return with_weights(module, swap, swap)


def forget_gate_biased(module):
    """The framework's own initial bias of 1 is added to the forget gate's."""

    def put(weights):
        bias = np.zeros_like(weights["lstm.bias"])
        bias[5:10] = 1
        return dict(weights, **{"lstm.bias": weights["lstm.bias"] + bias})

    return with_weights(module, put)


def two_biases_trained(module):
    """cuDNN's two biases, which are added, each take the step."""

    def change(steps, before, update, hp):
        return dict(update, **{"lstm.bias": 2 * update["lstm.bias"]})

    return with_updates(module, change)


def recurrent_bias_lost(module):
    """Of a bias that was divided among two, one half is left behind."""

    def put(weights):
        return dict(weights, **{"lstm.bias": weights["lstm.bias"] / 2})

    return with_weights(module, put)


def state_lost_before_running_free(module):
    """The network is fed with the values that it ran to, from zeros, not from where it stood."""

    def predict(model, x):
        values, steps = module.predict(model, x), x.shape[1]
        again = module.predict(model, np.ascontiguousarray(values[:, steps - 1 : -1]))
        return np.concatenate([values[:, :steps], again[:, :steps]], 1)

    return replaced(module, predict=predict)


def mean_of_absolute_differences(module):
    """In place of the root of the mean square."""

    def evaluate(values, targets):
        return float(np.abs(values - targets).mean())

    return replaced(module, evaluate=evaluate)


def targets_one_step_off(module):
    """A step's target is its own input, or the one before."""

    def load(sequences, targets, settings):
        return module.load(sequences, np.roll(targets, 1, 1), settings)

    return replaced(module, load=load)


# joints


def x_and_y_exchanged(module):
    """Row and column taken for x and y."""

    def load(images, targets, settings):
        return module.load(images, targets[..., [1, 0, 2]].copy(), settings)

    return replaced(module, load=load)


def shown(targets):
    """The targets with each joint visible."""
    targets = targets.copy()
    targets[..., 2] = 1
    return targets


def hidden_joints_shown(module):
    """Each joint counts, whether it is visible or not."""

    def load(images, targets, settings):
        return module.load(images, shown(targets), settings)

    return replaced(module, load=load)


def hidden_joints_measured(module):
    """In evaluation each joint counts, whether it is visible or not."""

    def evaluate(joints, targets):
        return module.evaluate(joints, shown(targets))

    return replaced(module, evaluate=evaluate)


def root_of_the_mean_square(module):
    """In place of the mean distance."""

    def evaluate(joints, targets):
        squares = ((joints - targets[..., :2]) ** 2).sum(-1)
        return float(np.sqrt(squares[targets[..., 2] > 0].mean()))

    return replaced(module, evaluate=evaluate)


# batch normalisation and weight decay


def kept_part_taken_for_the_new_one(module):
    """Momentum 0.9 given to a framework that asks for 0.1, the part that is not kept."""

    def change(steps, before, update, hp):
        return {n: u * (9 if n in state(update) else 1) for n, u in update.items()}

    return with_updates(module, change)


def running_variance_not_kept(module):
    """Only the mean follows the batches."""

    def change(steps, before, update, hp):
        return {n: u * (not n.endswith(".variance")) for n, u in update.items()}

    return with_updates(module, change)


def running_variance_named_wrongly(module):
    """The settings say another divisor."""

    def configure(lane, threads, seed):
        settings = module.configure(lane, threads, seed)
        biased = named(settings).running_variance == "biased"
        return dict(settings, running_variance="unbiased" if biased else "biased")

    right = module.configure
    return replaced(
        module,
        configure=configure,
        symbol=lambda settings, hp: module.symbol(
            dict(settings, running_variance=named(right("same", 1, 0)).running_variance), hp
        ),
    )


def weight_decay_on_all(module):
    """Biases and batch normalisation decay, too."""

    def change(steps, before, update, hp):
        decay = hp.learning_rate * hp.weight_decay
        return {
            n: u - decay * before[n] if u.ndim == 1 and n not in state(update) else u
            for n, u in update.items()
        }

    return with_updates(module, change)


def weight_decay_left_out(module):
    """The optimiser's default, none."""
    return with_hp(module, lambda hp: hp._replace(weight_decay=0.0))


def weight_decay_written_in(module):
    """The recipe's, whatever is asked for."""
    return with_hp(module, lambda hp: hp._replace(weight_decay=1e-4))


# The rung, in which models (all, those with a trait, or one), and the mistakes.
KNOWN = (
    ("data", "classes", (height_and_width_swapped, labels_off_by_one)),
    ("data", "", (own_batch_order,)),
    ("weights", "", (biases_not_zero, biases_ignored, claims_bfloat16)),
    (
        "forward",
        "",
        (rows_of_a_prediction_out_of_order, last_partial_batch_lost, scores_in_half_precision),
    ),
    ("forward", "convolution", (kernel_flipped,)),
    ("forward", "cnn", (biases_swapped, channels_last_flatten)),
    (
        "gradient",
        "",
        (learning_rate_written_in, bias_decay, bias_lost_on_the_way_back),
    ),
    ("gradient", "classes", (probability_clipped,)),
    ("gradient", "convolution", (weight_decay_on_kernels,)),
    ("gradient", "pool", (convolution_backward_in_tf32,)),
    ("gradient", "batchnorm", (convolution_backward_in_bfloat16,)),
    ("gradient", "", (gradient_clipped,)),
    ("gradient", "momentum", (loss_summed, batch_size_written_in)),
    ("gradient", "adam", (epsilon_named_wrongly, epsilon_written_in, betas_exchanged)),
    ("gradient", "adam", (learning_rate_falls_late, state_lost_late, correction_stops_counting)),
    ("momentum", "", (velocity_reset_each_pass,)),
    (
        "momentum",
        "momentum",
        (
            nesterov,
            scaled_gradient,
            momentum_written_in,
            stops_early,
            learning_rate_falls_late,
            state_lost_late,
        ),
    ),
    (
        "momentum",
        "adam",
        (
            epsilon_inside_the_root,
            bias_not_corrected,
            bias_corrected_one_step_behind,
            largest_square_kept,
            betas_written_in,
        ),
    ),
    (
        "gradient",
        "batchnorm",
        (
            bias_inside_a_block_lost,
            kept_part_taken_for_the_new_one,
            running_variance_not_kept,
            running_variance_named_wrongly,
            weight_decay_written_in,
        ),
    ),
    ("momentum", "batchnorm", (weight_decay_on_all, weight_decay_left_out)),
    ("trajectory", "", (models_share_state, predicts_with_the_model_built_last, losses_rounded)),
    ("accuracy", "", (predicts_with_stale_weights,)),
    (
        "dropout",
        "dropout",
        (
            rate_taken_for_keep,
            rates_exchanged,
            dropout_forgotten,
            seed_ignored,
            seed_from_the_clock,
        ),
    ),
    (
        "accuracy",
        "classes",
        (half_of_the_rows_counted, two_highest_counted, labels_off_in_evaluation),
    ),
    ("data", "lstm", (targets_one_step_off,)),
    (
        "forward",
        "lstm",
        (
            gates_in_another_order,
            forget_gate_biased,
            recurrent_bias_lost,
            state_lost_before_running_free,
        ),
    ),
    ("gradient", "lstm", (two_biases_trained,)),
    ("accuracy", "values", (half_of_the_rows_counted, mean_of_absolute_differences)),
    ("data", "joints", (height_and_width_swapped, x_and_y_exchanged, hidden_joints_shown)),
    (
        "accuracy",
        "joints",
        (half_of_the_rows_counted, hidden_joints_measured, root_of_the_mean_square),
    ),
)


def mistakes(model):
    """All that can be made in a model's module from outside."""
    return [
        Mistake(
            make.__name__, rung, lambda module, folder, make=make: make(module), None, None, False
        )
        for rung, trait, makes in KNOWN
        if trait in model.traits | {"", model.name, model.task.name}
        for make in makes
    ]
