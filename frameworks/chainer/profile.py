"""Profiling Chainer: what each function takes.

Idiom: the function hook ``TimerHook`` around the steps.
Surprise: it keeps forward and backward under one name, and a function that another calls on its way
    back twice, so it is told here. It sees functions alone, and the optimiser is none.
"""

from collections import OrderedDict

from chainer import function_hooks


class DirectionTimerHook(function_hooks.TimerHook):
    """A TimerHook that tells forward from backward; what a function calls is in its own time."""

    def tell(self, direction):
        """Keep the last call with its direction, if no other is going on."""
        name, seconds = self.call_history.pop()
        if self._depth == 0:
            self.call_history.append(("%s, %s" % (name, direction), seconds))

    def forward_postprocess(self, function, in_data):
        """Called after a function's way there."""
        super().forward_postprocess(function, in_data)
        self.tell("forward")

    def backward_postprocess(self, function, in_data, out_grad):
        """Called after its way back."""
        super().backward_postprocess(function, in_data, out_grad)
        self.tell("backward")


def profile(build, train, batches):
    """{function, direction: seconds} of a pass over the batches, the slowest first."""
    model = build()
    list(train(model, batches[:1]))  # the first step allocates
    with DirectionTimerHook() as hook:
        list(train(model, batches))
    times = {name: found["elapsed_time"] for name, found in hook.summary().items()}
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
