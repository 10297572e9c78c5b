"""CNTK's own file: the whole function, graph and weights, ``.model``.

Idiom: ``save``; ``restore`` copies weights into a function whose graph is the same.
Surprise: a user function in the file is imported by whatever name the file gives it. Here it is
    refused.
"""

import cntk as C


class UserFunctions(C.cntk_py.UDFDeserializeCallbackWrapper):
    """Called for a user function in a file; CNTK's own would import it."""

    def __call__(self, inputs, name, dictionary):
        self.found.append(name)  # C++ would print an exception raised here
        return C.alias(inputs[0])


USER_FUNCTIONS = UserFunctions()  # CNTK keeps no reference of its own
C.cntk_py._register_udf_deserialize_callback(USER_FUNCTIONS)


def function(model):
    """The network; of the LSTM's two, which share their weights, the first."""
    return model[0] if isinstance(model[0], C.Function) else model[0][0]


def save(model, path):
    """Write the model's network, with its weights."""
    function(model).save(path)


def restore(model, path):
    """Read weights into the model."""
    USER_FUNCTIONS.found = []
    try:
        function(model).restore(path)
    finally:
        if USER_FUNCTIONS.found:
            raise ValueError("it holds a user function")
