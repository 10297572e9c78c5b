"""Profile Chainer: the time of each function.

Idiom: the function hook ``TimerHook`` around the steps.
Surprise: it counts forward and backward under one name, and a function in another's backward pass
    twice, so this hook separates them. It sees only functions, not the optimiser.
"""

from collections import OrderedDict

from chainer import function_hooks


class DirectionTimerHook(function_hooks.TimerHook):
    """A TimerHook for each direction; a function's time includes the functions that it calls."""

    def name_last(self, direction):
        """Add the direction to the last call's name; drop the call if it is part of another."""
        name, seconds = self.call_history.pop()
        if self._depth == 0:
            self.call_history.append(("%s, %s" % (name, direction), seconds))

    def forward_postprocess(self, function, in_data):
        """Called after a function's forward pass."""
        super().forward_postprocess(function, in_data)
        self.name_last("forward")

    def backward_postprocess(self, function, in_data, out_grad):
        """Called after its backward pass."""
        super().backward_postprocess(function, in_data, out_grad)
        self.name_last("backward")


def profile(build, train, batches):
    """{function, direction: seconds} of a pass over the batches, the slowest first."""
    model = build()
    list(train(model, batches[:1]))  # the first step allocates
    with DirectionTimerHook() as hook:
        list(train(model, batches))
    times = {name: entry["elapsed_time"] for name, entry in hook.summary().items()}
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
