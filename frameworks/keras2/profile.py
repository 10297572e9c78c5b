"""Profile Keras 2: the time of each operation of its backend.

Idiom: Keras has no profiler of its own; the backend's goes around ``train_on_batch``.
Surprise: Keras compiles at the first batch, not in ``compile``, so Theano's profiler must be
    switched on before that.
"""

from collections import OrderedDict

from keras import backend as K

if K.backend() == "cntk":
    from frameworks.cntk import profile as cntk_profile

    def profile(build, train, batches):
        """{operation: seconds} of a pass, including the update, the slowest first."""
        # Keras makes the trainer when the first batch comes.
        return cntk_profile.profile(
            build, train, batches, lambda model: model.train_function.trainer
        )

else:
    import theano

    def profile(build, train, batches):
        """{operation: seconds} of a pass, including the update, the slowest first."""
        model = build()
        theano.config.profile = True
        try:
            list(train(model, batches[:1]))  # compiles
        finally:
            theano.config.profile = False
        function = model.train_function.function
        function.profile.reset()
        list(train(model, batches))
        times = {}
        for node, seconds in function.profile.apply_time.items():
            times[str(node.op)] = times.get(str(node.op), 0) + seconds
        return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))


__all__ = ["profile"]
