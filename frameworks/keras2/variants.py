"""Keras 2's levers, on CNTK, and the mistake of a lesson."""

from frameworks.variants import mkl_paths

LEVERS = mkl_paths(only=("keras-cntk",))

LESSONS = {"softmax_twice": (("Dense(10)", 'Dense(10, activation="softmax")'),)}
