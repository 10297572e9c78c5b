"""Profile Keras: the time of each operation of its backend.

Idiom: Keras has no profiler of its own; the backend's goes around ``train_on_batch``, or around the
    steps of ``fit`` that ``keras.callbacks.TensorBoard(profile_batch=...)`` names.
Surprise: compiled by XLA, a step is a few fused operations without the layers' names. The
    events of its older convolutions cover only part of their time, so the sum is too small.
"""

import os
import re
import tempfile
from collections import OrderedDict
from glob import glob

import keras

if keras.config.backend() == "tensorflow":
    from frameworks.tensorflow.profile import profile
elif keras.config.backend() == "torch":
    from frameworks.pytorch.profile import profile
else:
    import jax

    OPERATION = re.compile(r"[\w.-]+$")

    def profile(build, train, batches):
        """{operation: seconds} of a pass, including the update, the slowest first."""
        model = build()
        list(train(model, batches[:1]))  # the first step compiles
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                list(train(model, batches))
            (path,) = glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
            planes = list(jax.profiler.ProfileData.from_file(path).planes)
        times = {}
        for line in (line for plane in planes for line in plane.lines):
            for event in line.events if line.name.startswith("tf_XLA") else ():
                if OPERATION.match(event.name):  # and not the threads that wait for them
                    times[event.name] = times.get(event.name, 0) + event.duration_ns / 1e9
        return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))


__all__ = ["profile"]
