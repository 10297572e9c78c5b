"""How good a trained network is, and whether ``evaluate`` computed that correctly."""

import numpy as np

from common.networks.model import CLASSES, JOINTS, VALUES
from common.run import clocks, results


def measure(module, task, outputs, targets):
    """The parts of a result that say how well ``outputs`` of the test set fit, a dict.

    clocks.Stop where rows are missing, or ``evaluate`` returns anything but what they show.
    """
    if len(outputs) != len(targets):
        counts = (len(outputs), task.outputs, len(targets), task.observations)
        raise clocks.Stop("predict() returned %d rows of %s for %d %s" % counts)
    known = {CLASSES: _accuracy, VALUES: _error, JOINTS: _distance}
    return known[task](module, outputs, targets)


def _accuracy(module, scores, labels):
    right = int((scores.argmax(1) == labels).sum())
    accuracy = float(module.evaluate(scores.copy(), labels.copy()))
    if abs(accuracy * len(labels) - right) > 0.01:  # float32 may round the last digits
        counts = (accuracy, right, len(labels))
        raise clocks.Stop("evaluate() returned %s, but %d of %d images are right" % counts)
    interval = results.wilson_interval(accuracy, len(scores))
    return {"accuracy": {"value": accuracy, "n": len(scores), "interval": interval}}


def _error(module, values, targets):
    half = values.shape[1] // 2
    error = {}
    for name, part in (("one_step_ahead", slice(half)), ("free_running", slice(half, None))):
        error[name] = float(module.evaluate(values[:, part].copy(), targets[:, part].copy()))
        right = root_mean_square(values[:, part] - targets[:, part])
        if not abs(error[name] - right) <= 1e-5 * right:
            raise clocks.Stop("evaluate() returned %s, but the error is %s" % (error[name], right))
    error.update(of_the_mean=root_mean_square(targets - targets.mean()), n=len(values))
    sample = {"targets": targets[0].ravel().tolist(), "values": values[0].ravel().tolist()}
    return {"rms_error": error, "sample": sample}


def _distance(module, joints, targets):
    points, visible = np.float64(targets[..., :2]), targets[..., 2] > 0

    def mean_distance(joints):
        return float(np.sqrt(((joints - points) ** 2).sum(-1))[visible].mean())

    found, right = float(module.evaluate(joints.copy(), targets.copy())), mean_distance(joints)
    if not abs(found - right) <= 1e-5 * right:
        raise clocks.Stop("evaluate() returned %s, but the error is %s" % (found, right))
    counts = np.maximum(visible.sum(0), 1)[:, None]
    mean_pose = (points * visible[..., None]).sum(0) / counts
    error = {"value": found, "of_the_mean_pose": mean_distance(mean_pose), "n": len(joints)}
    sample = {"targets": targets[0].ravel().tolist(), "values": joints[0].ravel().tolist()}
    return {"joint_error": error, "sample": sample}


def root_mean_square(difference):
    """In float64."""
    return float(np.sqrt(np.mean(np.square(difference, dtype=np.float64))))
