"""Arrays that one side has once and the other once per observation, such as positions."""

from common.compare import names
from common.compare.layers.layer import full


def once(arrays, others):
    """The arrays; where either side has one row, equal rows for all observations become one."""
    both = list(arrays) + list(others)
    single = {x.shape[1:] for x in both if len(x.shape) > 2 and x.shape[0] == 1}
    single |= {x.shape for x in others if len(x.shape) > 1}
    # If the other side has an array of this name for each observation, equal ones are a mistake.
    each = {x.name for x in others if names.has_name(x.name) and _differs_by_row(x)}
    return arrays[:1] + [
        _once(x) if x.shape[1:] in single and x.name not in each else x for x in arrays[1:]
    ]


def _differs_by_row(array):
    return array.shape[:1] != (1,) and _once(array) is array


def _once(array):
    """The array of only the first observation, if all are the same."""
    if array.dtype.kind != "f" or array.mask is not None or len(array.shape) < 3:
        return array
    values = full(array)
    if len(values) == 1 or not array.finite or (values[1:] != values[:1]).any():
        return array
    return array.like(values[:1].astype(array.dtype))
