"""Profile Keras's ``fit``: the time of each operation of its backend.

Idiom: the backend's profiler goes around the pass; ``keras.callbacks.TensorBoard`` would start it
    for the steps that ``profile_batch`` names.
"""

from frameworks.keras.profile import profile

__all__ = ["profile"]
