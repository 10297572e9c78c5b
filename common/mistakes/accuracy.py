"""Mistakes in prediction and evaluation."""

import numpy as np

from common.mistakes.mistake import mistake
from common.mistakes.wrapping import with_description
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

    def train(described, batches):
        after = module.weights(described.model)
        for value in module.train(described.model, batches):
            described.before, after = after, module.weights(described.model)
            yield value

    def predict(described, x):
        model, settings, hp = described.model, described.settings, described.hp
        if hasattr(described, "before"):
            network = module.symbol(settings, hp)
            model = module.loss(network, settings, hp, dict(described.before))
        return module.predict(model, x)

    return with_description(module, train=train, predict=predict)
