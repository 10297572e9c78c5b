"""Malicious files in CNTK's own format; see ``tests/native/hostile.py``."""

import cntk as C
import numpy as np
from cntk.ops.functions import UserFunction


def user_function(path, marker):
    """A model with a function whose module the file names; importing that runs code."""

    def forward(self, argument, device=None, outputs_to_retain=None):
        return None, argument

    def infer_outputs(self):
        return [C.output_variable(self.inputs[0].shape, np.float32, self.inputs[0].dynamic_axes)]

    module = "os import path\nopen(%r, 'w')\nfrom os" % marker
    parts = {"forward": forward, "infer_outputs": infer_outputs, "__module__": module}
    function = type("Named", (UserFunction,), dict(parts, serialize=lambda self: {}))
    C.user_function(function([C.input_variable(3)])).save(path)
    return "it holds a user function"


ATTACKS = {".model": (user_function,)}
