"""Records one pass and three training steps of the original.

    tox exec -e keras -- python docs/examples/keras-to-jax/record_original.py MODEL.keras OUT

Writes weights.npz, forward.npz and steps.npz into the folder OUT.
"""

import os
import sys

import keras
import numpy as np

from frameworks.keras.record import record, record_step


def array(variable):
    """A copy as NumPy's."""
    return np.array(keras.ops.convert_to_numpy(variable))


def main(path, target):
    """The dropout rate is set to 0: two frameworks cannot draw the same masks."""
    os.makedirs(target, exist_ok=True)
    model = keras.models.load_model(path)
    model.get_layer("dropout").rate = 0.0
    variables = [v for v in model.weights if "seed_generator" not in v.path]
    weights = {v.path: array(v) for v in variables}
    assert len(weights) == len(variables), "two layers have the same path: name them"
    np.savez_compressed(os.path.join(target, "weights.npz"), **weights)
    random = np.random.RandomState(2)
    x, y = random.randn(8, 16, 16, 3).astype("float32"), random.randint(0, 5, 8)
    np.savez_compressed(os.path.join(target, "forward.npz"), **record(model, x))
    # The saved optimiser has a velocity already; the port starts with a new one.
    model.compile(
        optimizer=keras.optimizers.SGD(0.05, momentum=0.9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    found = record_step(model, x, y, steps=3)
    steps = {"x": x, "y": y}
    steps.update((n, a) for n, a in found.items() if n.startswith(("step", "loss", "grad")))
    for v in model.get_layer("norm1").non_trainable_variables:
        steps["step3 " + v.path] = array(v)
    np.savez_compressed(os.path.join(target, "steps.npz"), **steps)


if __name__ == "__main__":
    main(*sys.argv[1:])
