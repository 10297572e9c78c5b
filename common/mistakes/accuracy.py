"""Mistakes in prediction and evaluation."""

import numpy as np

from common.mistakes.mistake import mistake
from common.system.modules import replaced


@mistake("accuracy", "classes", "values", "joints")
def half_of_the_rows_counted(module):
    """Only half of the rows are evaluated."""

    def evaluate(scores, labels):
        return module.evaluate(scores[: len(scores) // 2], labels[: len(labels) // 2])

    return replaced(module, evaluate=evaluate)


@mistake("accuracy", "classes")
def two_highest_counted(module):
    """A label among the two highest scores counts as right."""

    def evaluate(scores, labels):
        return float((scores.argsort(1)[:, -2:] == labels[:, None]).any(1).mean())

    return replaced(module, evaluate=evaluate)


@mistake("accuracy", "classes")
def labels_off_in_evaluation(module):
    """Scores are compared with class numbers that begin at 1."""

    def evaluate(scores, labels):
        return module.evaluate(scores, (labels + 1) % 10)

    return replaced(module, evaluate=evaluate)


@mistake("accuracy", "values")
def mean_of_absolute_differences(module):
    """The mean absolute difference, instead of the root mean square."""

    def evaluate(values, targets):
        return float(np.abs(values - targets).mean())

    return replaced(module, evaluate=evaluate)


@mistake("accuracy")
def predicts_with_stale_weights(module):
    """Prediction uses the weights from before the last step."""

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
