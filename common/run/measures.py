"""Measure the accuracy or error of a trained network, and check ``evaluate``."""

import numpy as np

from common.data import shakespeare
from common.networks.model import CLASSES, JOINTS, SENTENCES, TOKENS, VALUES
from common.run import clocks, results

FIGURES = "accuracy", "rms_error", "joint_error", "held_out_loss"


def measure(module, task, outputs, targets):
    """A result's figures for the ``outputs`` for the test set, a dict.

    clocks.Stop if rows are missing or ``evaluate`` returns a wrong value.
    """
    if len(outputs) != len(targets):
        counts = (len(outputs), task.outputs, len(targets), task.observations)
        raise clocks.Stop("predict() returned %d rows of %s for %d %s" % counts)
    known = {
        CLASSES: _accuracy,
        SENTENCES: _accuracy,
        VALUES: _error,
        JOINTS: _distance,
        TOKENS: _held_out_loss,
    }
    return known[task](module, outputs, targets)


def _accuracy(module, scores, labels):
    right = int((scores.argmax(1) == labels).sum())
    accuracy = float(module.evaluate(scores.copy(), labels.copy()))
    if not abs(accuracy * len(labels) - right) <= 0.01:  # float32 may round the last digits
        counts = (accuracy, right, len(labels))
        raise clocks.Stop("evaluate() returned %s, but %d of %d are right" % counts)
    interval = results.wilson_interval(accuracy, len(scores))
    return {"accuracy": {"value": accuracy, "n": len(scores), "interval": interval}}


def _error(module, values, targets):
    half = values.shape[1] // 2
    error = {}
    for name, part in (("one_step_ahead", slice(half)), ("free_running", slice(half, None))):
        right = root_mean_square(values[:, part] - targets[:, part])
        error[name] = _evaluated(module, values[:, part], targets[:, part], right)
    error.update(of_the_mean=root_mean_square(targets - targets.mean()), n=len(values))
    sample = {"targets": targets[0].ravel().tolist(), "values": values[0].ravel().tolist()}
    return {"rms_error": error, "sample": sample}


def _distance(module, joints, targets):
    points, visible = np.float64(targets[..., :2]), targets[..., 2] > 0

    def mean_distance(joints):
        return float(np.sqrt(((joints - points) ** 2).sum(-1))[visible].mean())

    value = _evaluated(module, joints, targets, mean_distance(joints))
    counts = np.maximum(visible.sum(0), 1)[:, None]
    mean_pose = (points * visible[..., None]).sum(0) / counts
    error = {"value": value, "of_the_mean_pose": mean_distance(mean_pose), "n": len(joints)}
    sample = {"targets": targets[0].ravel().tolist(), "values": joints[0].ravel().tolist()}
    return {"joint_error": error, "sample": sample}


def _held_out_loss(module, scores, targets):
    counted, steps = targets != shakespeare.IGNORED, targets.shape[1]
    given = np.float64(scores[:, :steps])
    given -= given.max(-1, keepdims=True)
    chosen = np.take_along_axis(given, np.where(counted, targets, 0)[..., None], -1)[..., 0]
    losses = np.log(np.exp(given).sum(-1)) - chosen
    value = _evaluated(module, scores, targets, float(losses[counted].mean()))
    error = {"value": value, "n": int(counted.sum())}
    return {"held_out_loss": error, "sample": {"text": written(scores, targets)}}


def written(scores, targets):
    """Lines "beginning | continuation" of the first five texts with a whole beginning."""
    steps = targets.shape[1]
    given = targets[:, : steps // 2 - 1]
    whole = np.flatnonzero((given != shakespeare.IGNORED).all(1))[:5]
    lines = []
    for row, tokens in zip(whole, shakespeare.continuation(scores[whole], steps)):
        begun, generated = shakespeare.decode(given[row]), shakespeare.decode(tokens)
        lines.append("%s | %s" % (begun.replace("\n", " "), generated.replace("\n", " ")))
    return lines


def _evaluated(module, outputs, targets, right):
    """The error by ``evaluate``; Stop unless it is right."""
    value = float(module.evaluate(outputs.copy(), targets.copy()))
    if not abs(value - right) <= 1e-5 * right:
        raise clocks.Stop("evaluate() returned %s, but the error is %s" % (value, right))
    return value


def root_mean_square(difference):
    """The root mean square, in float64."""
    return float(np.sqrt(np.mean(np.square(difference, dtype=np.float64))))
