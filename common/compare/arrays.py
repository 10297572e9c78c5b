"""An array of a recording, and tests whether two arrays agree by more than chance."""

import math

import numpy as np

from common.compare import digits, masks

TOLERANCE = 1e-5  # of an array's spread, by default: float32's error after some hundred layers
UNITS = 16  # times the error of float32 itself, if an exact recording shows it
COARSE = 0.1  # of an array's spread: beyond that, it may differ by few times its own error
ROUNDINGS = 4  # of an array's own type, allowed on top
CERTAIN = 20  # bits that must be left: by chance, one in a million
DIGITS = -math.log(TOLERANCE, 2)  # bits that fitting a constant may use up
SHARP = 4  # bits by which an array's spread must exceed its allowed error
LOOKED_AT = 256  # values on which a layout is tried
PRIME = 2**53 - 111
COUNTED = 4096  # values that are counted to estimate how many are distinct


class Array:
    """An array of a recording, with its statistics."""

    def __init__(self, name, values):
        self.name, self.shape, self.dtype = name, values.shape, values.dtype
        self.axes = [axis for axis, size in enumerate(self.shape) if size != 1]
        self.digits = digits.of(values)
        floating = values.dtype.kind == "f"
        self.epsilon = float(np.finfo(values.dtype).eps) if floating else 0.0
        self.unit = None  # the error of float32 itself here, if an exact recording shows it
        values = values.reshape([self.shape[axis] for axis in self.axes])
        if not floating:
            values = _whole(values)
        elif values.dtype.itemsize < 4:
            values = values.astype(np.float32)
        self.mask = masks.of(values) if floating else None
        if self.mask is not None:
            values = masks.filled(values, self.mask.places)
        self.values, self.size = values, values.size
        self.finite = bool(np.isfinite(values).all())
        self.kinds, self.whole, self.mean, self.rms, self.spread = 0, False, 0.0, 0.0, 0.0
        self.magnitude, self.ends = 0.0, (0.0, 0.0)
        if not self.finite:
            return
        self.mean = float(values.mean(dtype=np.float64))
        self.magnitude = float(np.abs(values).mean(dtype=np.float64))
        self.ends = float(values.min()), float(values.max())
        self.rms = rms(values)
        self.spread = rms(values - self.mean)
        if self.spread <= self.size * np.finfo(np.float64).eps * self.rms:
            self.spread = 0.0  # a constant
        random = np.random.RandomState(0)
        flat = values.reshape(-1)
        # In an array full of zeros, such as a ReLU's output, the other values say more.
        some = random.randint(0, self.size, COUNTED) if self.size > COUNTED else slice(None)
        different, counts = np.unique(flat[some], return_counts=True)
        self.common, self.some = different[counts.argmax()], flat[some]
        self.kinds, self.whole = len(different), bool((different == np.rint(different)).all())
        counts = counts / float(counts.sum())
        self.entropy = -float((counts * np.log2(counts)).sum())  # bits in a value
        telling = np.flatnonzero(flat[: 64 * COUNTED] != self.common)
        both = [random.randint(0, self.size, LOOKED_AT)]
        if len(telling):
            both.append(telling[random.randint(0, len(telling), LOOKED_AT)])
        self.sample = np.unique(np.concatenate(both))

    def __str__(self):
        return "%s (%s)" % (self.name, ", ".join(str(size) for size in self.shape))

    def like(self, values):
        """An array of some of these values, or of similar ones, in the same precision."""
        made = Array(self.name, values)
        made.digits, made.epsilon, made.unit = self.digits, self.epsilon, self.unit
        return made

    @property
    def scale(self):
        """The size to which distances from this array are relative when they are shown."""
        return self.spread or self.rms or 1


def _whole(values):
    """Whole numbers in float64, in which different ones stay different.

    Numbers beyond 2 ** 53, such as hashes, have their remainder of a prime instead.
    """
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        large = (values > 2**53) | (values < -(2**53))
        values = np.where(large, values % PRIME, values)
    return values.astype(np.float64)


def rms(values):
    """Root of the mean square, without overflow."""
    peak = np.float64(np.abs(values).max()) if values.size else np.float64(0)
    if not 0 < peak < np.inf:
        return peak
    flat = np.divide(values, peak, dtype=np.float64).reshape(-1)
    return peak * math.sqrt(np.dot(flat, flat) / flat.size)


def apart(a, b):
    """Root mean square of the difference of two NumPy arrays."""
    return rms(np.subtract(a, b, dtype=np.float64))


def shown(value):
    """A number in three digits."""
    return "%.3g" % value


def factor(value):
    """A factor in three digits; one near 1 by its distance from 1."""
    off = value - 1
    if not 1e-7 < abs(off) < 5e-3:
        return shown(value)
    part = 1 / abs(off)
    sign = "-" if off < 0 else "+"
    whole = part > 20 and abs(np.rint(part) - part) < 0.05
    return "1 %s 1/%d" % (sign, np.rint(part)) if whole else "1 %s %.3g" % (sign, abs(off))


def proven(a, b, most, constants=0, choices=0.0, part=1.0):
    """Whether chance is ruled out if two arrays are within ``most`` of each other.

    constants: how many numbers were fitted. choices: the base-2 logarithm of the number of
    relations of this kind. part: the share of the values that was compared.
    """
    spread = min(a.spread, b.spread)
    if not spread:
        return False
    sharp = np.log2(spread / most) if most else np.inf
    bits = min(a.entropy, b.entropy, sharp) * part * a.size
    return bool(sharp >= SHARP and bits - DIGITS * constants - choices >= CERTAIN)


def allowed(a, b, tolerance):
    """The largest distance of two arrays that agree, in their own unit."""
    if a.epsilon == b.epsilon == 0:
        return 0.0
    if a.unit is not None:
        most = max(COARSE * a.scale, 4 * a.unit)  # of an array that is mostly rounding itself
        return max(min(UNITS * a.unit, most), max(a.epsilon, b.epsilon) * max(a.rms, b.rms))
    spreads = [abs(x.mean) if x.size == 1 else x.spread for x in (a, b)]  # such as a loss
    return rounding(max(a.rms, b.rms), a, b) + tolerance * min(spreads)


def rounding(size, a, b):
    """The rounding error of the coarser type for values of this size."""
    return ROUNDINGS * max(a.epsilon, b.epsilon) * size


def mean_product(a, b):
    """The mean of the products of two arrays' values."""
    return np.multiply(a, b, dtype=np.float64).mean()


def correlation(a, b):
    """The correlation of two rows of values; 0 if one of them is constant."""
    a, b = a - a.mean(dtype=np.float64), b - b.mean(dtype=np.float64)
    sizes = rms(a), rms(b)
    return mean_product(a / sizes[0], b / sizes[1]) if all(sizes) else 0.0
