"""CNTK: its parameters' type, its OpenMP's threads, and its choice of cuDNN's algorithms."""

import cntk
import numpy as np
import threadpoolctl


def in_force(module, settings, model):
    (precision,) = {np.dtype(parameter.dtype).name for parameter in model[0].parameters}
    return {
        "precision": precision,
        "threads": threads(),
        "autotune": not cntk.cntk_py.should_force_deterministic_algorithms(),
    }


def threads():
    """How many threads the OpenMP library in CNTK's wheel uses, which its MKL uses too."""
    found = threadpoolctl.threadpool_info()
    (number,) = {one["num_threads"] for one in found if one["user_api"] == "openmp"}
    return number
