"""Profile Keras: the time of each operation of its backend.

Idiom: Keras has no profiler of its own; the backend's goes around ``train_on_batch``, or around the
    steps of ``fit`` that ``keras.callbacks.TensorBoard(profile_batch=...)`` names.
Surprise: the names are the backend's, and few of them are those of Keras's layers.
"""

import keras

if keras.config.backend() == "tensorflow":
    from frameworks.tensorflow.profile import profile
elif keras.config.backend() == "torch":
    from frameworks.pytorch.profile import profile
else:
    from frameworks.jax.profile import profile

__all__ = ["profile"]
