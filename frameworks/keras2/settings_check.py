"""Keras 2: its weights, and what its backend tells."""

from keras import backend as K


def in_force(module, settings, model):
    (precision,) = {w.dtype.name for w in model.get_weights()}
    found = {"precision": precision, "backend": K.backend()}
    if K.backend() == "theano":
        import theano

        from frameworks.theano.settings_check import compiled

        found.update(compiled(model.train_function.function), backend_version=theano.__version__)
    else:
        import cntk

        from frameworks.cntk.settings_check import threads

        found.update(threads=threads(), backend_version=cntk.__version__)
    return found
