"""Attention over the places of an image, or over a sequence with channels first.

A diffusion model's attention, for example, computes queries, keys and values of (batch, channels,
height, width). Here they become (batch, places, channels), which the other modules expect.
"""

import copy

import numpy as np

from common.compare.between import attended
from common.compare.layers.layer import full


def explain(both):
    """An ``Explanation`` if the attentions of both sides are known and differ."""
    if both.ours.ndim not in (3, 4):
        return None
    turned = copy.copy(both)
    turned.ours, turned.theirs = _last(both.ours), _last(both.theirs)
    turned.pairs = [
        (_turned(x), _turned(z))
        for x, z in both.pairs
        if len(x.shape) in (3, 4) and len(z.shape) in (3, 4)
    ]
    return attended.explain(turned)


def _last(values):
    """(batch, channels, places) or (batch, channels, height, width) as (batch, places, channels)"""
    return np.moveaxis(values, 1, -1).reshape(len(values), -1, values.shape[1])


def _turned(array):
    """A recorded array in that form."""
    array = copy.copy(array)
    array.values = _last(full(array))
    array.shape, array.axes = array.values.shape, [0, 1, 2]
    return array
