"""CNTK's ``.model``: a dictionary of protocol buffers, with the graph and its parameters.

The schema: Source/CNTKv2LibraryDll/proto/CNTK.proto in CNTK's repository.
"""

import re

from common.dump.contents import Contents, Refused, shaped

FLOAT, DOUBLE = 1, 2
PARAMETER, CONSTANT = 2, 3  # kinds of a variable


def is_one(message):
    """Whether a message is a dictionary with a model."""
    return any(
        entry.text(1) in ("primitive_functions", "root") for entry in message.inner_if_any(2)
    )


def _dictionary(message):
    """{key: DictionaryValue} of a Dictionary."""
    return {entry.text(1): entry.message(2) for entry in message.inner(2)}


def _values(message, key):
    """The dictionaries in the vector under a key."""
    vector = message[key].message(11) if key in message else None
    return [_dictionary(value.message(12)) for value in vector.inner(1)] if vector else []


def _text(message, key):
    return message[key].text(8) if key in message else ""


def _array(view, name):
    """An NDArrayView; CNTK's first axis is NumPy's last."""
    if view.one(1) not in (FLOAT, DOUBLE) or view.one(2) != 0:
        raise Refused("%s is neither dense nor of float32 or float64" % name)
    dtype = "<f4" if view.one(1) == FLOAT else "<f8"
    values = view.message(4 if view.one(1) == FLOAT else 5).floats(1, dtype)
    return shaped(name, values.tobytes(), dtype, view.message(3).integers(1)[::-1])


def read(message):
    """``Contents`` of a Dictionary. Nothing in it names code that would be imported here."""
    contents, model = Contents(), _dictionary(message)
    names = {}
    for variable in _values(model, "inputs"):
        uid, kind = _text(variable, "uid"), variable["kind"].one(5) if "kind" in variable else 0
        name = names[uid] = _text(variable, "name") or uid
        if kind in (PARAMETER, CONSTANT) and "value" in variable:
            name = uid if name in contents.arrays else name
            names[uid] = name
            contents.add(name, _array(variable["value"].message(13), name))
    for function in _values(model, "primitive_functions"):
        uid = _text(function, "uid")
        inputs = function["inputs"].message(11).inner(1) if "inputs" in function else []
        wired = [names.get(value.text(8), value.text(8)) for value in inputs]
        kind = re.sub(r"\d+$", "", uid)  # an operation's number follows its name
        contents.layers.append((kind, _text(function, "name") or uid, wired, [uid + "_Output_0"]))
    return contents
