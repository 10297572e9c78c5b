"""Steps that differ although the weights after them agree within the tolerance.

A step is small beside the weights. So what each side adds to them is compared as well, where both
sides have had the same gradients: there, a right port differs by rounding alone.
"""

import numpy as np

from common.compare.arrays import apart, rms
from common.compare.difference import of_two
from common.compare.layouts import agreement
from common.compare.optimizers import explain, steps

ROUNDINGS = 4  # of the weights that a difference must exceed
SAME = 0.05  # of a gradient's value: if nearer, both sides have had the same one
OTHER = 0.5  # of a step: if farther apart, it is another one
PART = 0.5  # of the squared difference that one factor must explain
FACTOR = 1e-3  # the least factor; Adam's corrections in float32 are off by up to 1e-4
NOISE = 10  # times the gradients' own relative distance, which momentum can enlarge
MOST = 2**18  # values of a tensor that are compared
FEW = 16  # values; with fewer, a factor of the weights shows nothing


def first_difference(recordings):
    """The first array of steps that differs so, as a dict; None if there is none."""
    ours, theirs = _places(recordings.a), _places(recordings.b)
    tensors = (
        _Tensor(recordings, (ours.get(a, {}), theirs.get(b, {})))
        for b, a in recordings.tensors.items()
    )
    found = [difference for difference in (x.difference() for x in tensors) if difference]
    if not found or explain.differ_in_place(recordings):
        return None
    return min(found, key=lambda difference: difference["a_place"])


class _Tensor:
    """The steps of one tensor in both recordings.

    places: its {(kind, step): place} in A and in B.
    """

    def __init__(self, recordings, places):
        self.recordings, self.sides, self.places = recordings, (recordings.a, recordings.b), places
        starts, places = self._both("weight", 0), self._both("gradient", 1)
        same = starts and agreement(*self._arrays(starts), recordings.tolerance)
        self.layout = same.layout if same else None
        same = self.layout and places and recordings.agreement(*places)
        if same and same.layout != self.layout:
            # The first weights may be the same in several layouts, such as zeros.
            of_starts, self.layout = self.layout, same.layout
            starts = self._values("weight", 0)
            if starts is None or apart(*starts) > recordings.tolerance * rms(starts[1]):
                self.layout = of_starts

    def difference(self):
        """The first array that differs, as a dict; None if there is none."""
        kinds = {what for side in self.places for what, _ in side}
        if not self.layout or not all(self.places) or "gradient" not in kinds:
            return None  # running statistics, for example
        before, gradients = self._values("weight", 0), []
        for step in range(1, 1 + min(max(n for _, n in side) for side in self.places)):
            own, after = self._gradients(step), self._values("weight", step)
            if own is None or self._is_rounding(step):
                return None
            if apart(*own) > OTHER * rms(own[1]):
                return self._elsewhere(step)
            if before is None or after is None:
                return None
            gradients.append(own)
            same = np.all([np.abs(g - f) <= SAME * np.abs(g) for f, g in gradients], 0)
            says = same.any() and _words(
                [x[same] for x in before],
                [x[same] for x in after],
                max(apart(f[same], g[same]) / (rms(g[same]) or 1) for f, g in gradients),
                self._epsilon(step),
            )
            if says:
                return of_two(self.recordings, *self._both("weight", step), says)
            before = after
        return None

    def _both(self, what, step):
        """The places of an array in A and in B; None if one side lacks it."""
        places = tuple(side.get((what, step)) for side in self.places)
        return None if None in places else places

    def _arrays(self, places):
        return [side[place] for side, place in zip(self.sides, places)]

    def _values(self, what, step):
        """(A's values, B's) in B's layout, in rows; None if a side lacks them, or sizes differ."""
        places, start = self._both(what, step), self._both("weight", 0)
        if places is None or start is None:
            return None
        a, b = (array.values for array in self._arrays(places))
        shape = self.sides[1][start[1]].values.shape
        if not a.size == b.size == np.prod(shape) == np.prod(self.layout.split):
            return None
        return _flat(self.layout.apply(a, shape)), _flat(b)

    def _gradients(self, step):
        """The same of the gradients; where one side lacks zeros, these."""
        places = [side.get(("gradient", step)) for side in self.places]
        if None not in places:
            return self._values("gradient", step)
        known = [side[i].values for side, i in zip(self.sides, places) if i is not None]
        if any(values.any() for values in known):
            return None
        weights = self._values("weight", 0)
        return weights and tuple(np.zeros_like(x) for x in weights)

    def _is_rounding(self, step):
        place = self.places[0].get(("gradient", step))
        return place is not None and self.sides[0][place].name in self.recordings.rounding_only

    def _epsilon(self, step):
        """The relative rounding error of the weights, which may be kept in fewer digits."""
        arrays = self._arrays(self._both("weight", step))
        return max([float(np.finfo(np.float32).eps)] + [min(x.digits, x.epsilon) for x in arrays])

    def _elsewhere(self, step):
        """The difference of two gradients that agree, but not in the layout of their weights."""
        places = self._both("gradient", step)
        same = places and self.recordings.agreement(*places)
        if not same or same.layout == self.layout:
            return None
        words = same.layout.words(*self._arrays(places)) or "as it is"
        says = "B is A, %s, and the weights are not" % words
        return of_two(self.recordings, *places, says)


def _places(arrays):
    """{tensor: {(kind, step): place}}; the weights before the first step are those of step 0."""
    found = {}
    for place, array in enumerate(arrays):
        moment = steps.moment(array.name)
        if moment is not None and array.finite and array.dtype.kind == "f":
            found.setdefault(steps.kind(array.name)[2], {}).setdefault(moment, place)
    return found


def _flat(values):
    """The values in a row and in float64; of a large array, the same random ones each time."""
    values = values.reshape(-1)
    if values.size > MOST:
        values = values[np.random.RandomState(0).randint(0, values.size, MOST)]
    return values.astype(np.float64)


def _words(before, after, noise, epsilon):
    """How B's step differs, in words; None if that may be rounding.

    before, after: (A's weights, B's), where both have had the same gradients. noise: the relative
    distance of the gradients. epsilon: of the weights.
    """
    ours, theirs = (w - v for v, w in zip(before, after))
    off = theirs - ours
    if rms(off) <= ROUNDINGS * epsilon * max(rms(before[1]), rms(after[1])):
        return None
    factor = _factor(ours, off)
    if factor:  # a smaller one is a correction or a clipping in float32
        least = max(FACTOR, NOISE * noise)
        return "B's step is A's, times %.4g" % (1 + factor) if abs(factor) > least else None
    factor = _factor(before[1], off) if off.size >= FEW else 0.0
    if factor:
        return "B's step is A's, plus %.3g times the weights" % factor
    if rms(off) > OTHER * max(rms(ours), rms(theirs)):
        return "B's step is another one, though the gradients agree"
    return None


def _factor(values, off):
    """The number by which these values are the difference; 0 if none explains most of it."""
    squares = (values**2).sum()
    factor = (values * off).sum() / squares if squares else 0.0
    return float(factor) if factor**2 * squares > PART * (off**2).sum() else 0.0
