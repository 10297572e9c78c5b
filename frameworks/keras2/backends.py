"""The switches of Keras 2's backends, CNTK and Theano, and what Theano computes differently.

Idiom: KERAS_BACKEND chooses the backend; ``keras.backend`` has its operations under common names.
Surprise: the common names hide different numbers. On Theano, ReLU has half a gradient at 0, a pool
    gives its gradient to every equal maximum, and the cross-entropy clips probabilities.
"""

import os

from keras import backend as K

if K.backend() == "theano":
    import theano
else:
    import cntk


def switch(lane, threads):
    """Set the backend's switches; return those in force."""
    settings = {"threads": threads, "backend": K.backend()}
    if K.backend() == "cntk":
        settings["backend_version"] = cntk.__version__
        cntk.cntk_py.set_max_num_cputhreads(threads)
        settings["threads"] = cntk.cntk_py.get_max_num_cputhreads()
        return settings
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)  # read when the first compiled function is loaded
    settings["backend_version"] = theano.__version__
    settings["optimizer"] = "fast_run"
    # "nogc" keeps a step's buffers for the next one.
    settings["linker"] = "cvm_nogc" if lane == "best" else "cvm"
    settings["openmp"] = theano.config.openmp
    settings["blas.ldflags"] = theano.config.blas.ldflags
    return settings


def compile_options(settings):
    """Arguments of ``compile``, which Keras passes to Theano's functions."""
    if K.backend() == "cntk":
        return {}
    return {"mode": theano.Mode(settings["linker"], settings["optimizer"])}


def set_dropout_seed(seed):
    """Seed CNTK's dropout, to which Keras does not pass the layers' seeds."""
    if K.backend() == "cntk":
        cntk.cntk_py.reset_random_seed(seed)  # each layer takes the next number


def relu(h):
    """ReLU without a gradient at 0."""
    return K.maximum(0, h) if K.backend() == "theano" else K.relu(h)


def max_pool(h):
    """2x2 max-pool whose gradient goes to one maximum."""
    if K.backend() != "theano":
        return K.pool2d(h, (2, 2), strides=(2, 2))
    a, b, c, d = [h[:, :, row::2, column::2] for row in (0, 1) for column in (0, 1)]
    return K.maximum(K.maximum(a, b), K.maximum(c, d))


def crossentropy(y, scores):
    """Softmax cross-entropy of each image, (N,), without clipping."""
    if K.backend() == "theano":
        return K.logsumexp(scores, axis=-1) - K.sum(y * scores, axis=-1)
    return K.categorical_crossentropy(y, scores, from_logits=True)


def oriented(w):
    """A canonical tensor for this backend, and back: Theano rotates kernels by 180 degrees."""
    return w[:, :, ::-1, ::-1] if w.ndim == 4 and K.backend() == "theano" else w
