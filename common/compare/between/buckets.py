"""Biases of relative positions: numbers for each distance of a key from a query."""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers.layer import size

LEAST = 4  # tokens
SAME = 1e-5  # of the numbers' spread


def explain(both):
    """An ``Explanation`` if distances have the other sign, or share numbers in another way."""
    found = [_by_distance(z) for z in (both.ours, both.theirs)]
    if any(numbers is None for numbers in found):
        return None
    ours, theirs = found
    if ours.shape != theirs.shape:
        return None
    scale = size(ours - ours.mean(0))
    if size(ours - theirs[::-1]) <= SAME * scale:
        says = "a bias of relative positions, whose distances have the other sign in B"
        return Explanation(says, pages.POSITIONS)
    kinds = [_kind(numbers, scale) for numbers in (ours, theirs)]
    if kinds[0] == kinds[1]:
        says = "a bias of relative positions, with other buckets of distances"
        return Explanation(says, pages.POSITIONS)
    says = "a bias of relative positions: %s in A, %s in B"
    return Explanation(says % tuple(kinds), pages.POSITIONS)


def _by_distance(z):
    """(2 tokens - 1, heads): the numbers of each distance; None if the array depends on more."""
    if z.ndim == 4 and z.shape[0] == 1:
        z = z[0]
    if z.ndim != 3:
        return None
    z = z if z.shape[0] == z.shape[1] else z.transpose(1, 2, 0)
    tokens = z.shape[0]
    if z.shape[1] != tokens or tokens < LEAST:
        return None
    diagonals = [np.diagonal(z, distance, 0, 1).T for distance in range(1 - tokens, tokens)]
    spread = size(z - z.mean((0, 1)))
    if not spread or any(size(rows - rows[0]) > SAME * spread for rows in diagonals):
        return None
    return np.array([rows[0] for rows in diagonals])


def _kind(numbers, scale):
    """Which distances have their own numbers, in words."""
    tokens = (len(numbers) + 1) // 2
    before, after = numbers[: tokens - 1], numbers[tokens:]
    one = [size(side - side[:1]) <= SAME * scale for side in (before, after)]
    if one[1] and not one[0]:
        return "one number for all keys after the query (one direction)"
    if one[0] and not one[1]:
        return "one number for all keys before the query (one direction)"
    return "numbers of their own for keys before and after the query (both directions)"
