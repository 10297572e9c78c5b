"""How a convolution's kernel differs between A and B."""

import numpy as np

from common.compare.layers import convolution
from common.compare.layers.layer import size

LEAST, ENOUGH = 1.2, 3  # equations for each unknown, of both sides together
EXACT = 1e-5  # of the results' spread: what one kernel for both sides may leave
EXPLAINED = 0.1  # of the difference: more than that must not be left
# Changing the patches that A's kernel sees has the effect of B's; the same makes B's kernel A's.
WAYS = (
    ("flipped along height and width", lambda seen: seen[..., ::-1, ::-1]),
    ("with height and width swapped", lambda seen: seen.swapaxes(-1, -2)),
    ("turned by 90 degrees", lambda seen: np.rot90(seen, -1, (-2, -1))),
)


def change(a, b):
    """How B's kernel differs from A's, in words; None if they are equal or no known change fits."""
    ours, theirs = (convolution.fitted(fit.case, fit.constants)[1] for fit in (a, b))
    if ours.shape != theirs.shape:
        return None
    noise = 1e-3 * size(ours)
    if size(theirs - ours) <= noise:
        return None
    planes = [np.moveaxis(kernel, 3, 1) for kernel in (ours, theirs)]
    name = next((name for name, way in WAYS if size(planes[0] - way(planes[1])) <= noise), None)
    if name is not None:
        return name
    square = ours.shape[0] == ours.shape[-1]
    if square and size(theirs - ours.transpose(3, 1, 2, 0)) <= noise:
        return "with inputs and outputs swapped"
    order = _order(ours, theirs, noise)
    if order is not None:
        return "with its input channels in the order " + ", ".join(map(str, order))
    if a.case.y.shape != b.case.y.shape:
        return None
    return shared(convolution.fed(a.case, a.constants), a.case.y, b.case.y, a.constants)


def shared(images, ours, theirs, constants):
    """How B's kernel differs from A's if one kernel makes both results, in words; or None.

    This holds even if the images do not determine the kernel.
    """
    kernel, channels = constants["kernel"], images.shape[1]
    places = ours[:, 0].size
    least, count = (int(n * (channels * kernel**2 + 2) / 2) + 1 for n in (LEAST, ENOUGH))
    if places < least or channels * kernel**2 > convolution.UNKNOWNS:
        return None
    count = min(count, places)  # of each side
    try:
        seen = convolution.patches(images, constants, ours.shape[2:])
    except ValueError:  # an image too small for this stride
        return None
    some = np.random.RandomState(0).permutation(places)[:count]
    seen = seen.reshape(places, channels, kernel, kernel)[some]
    results = [y[:, : convolution.CHANNELS].transpose(0, 2, 3, 1) for y in (ours, theirs)]
    results = [y.reshape(places, -1)[some] for y in results]
    results = [y - y.mean(0) for y in results]
    # If both results were alike, a symmetric kernel would make them, with fewer equations.
    most = min(EXACT * min(map(size, results)), EXPLAINED * size(results[1] - results[0]))
    results = np.concatenate(results)
    for name, way in WAYS:
        sides = [x.reshape(count, -1) for x in (seen, way(seen))]
        table = np.concatenate([x - x.mean(0) for x in sides])  # each side may have its own bias
        weights = np.linalg.lstsq(table, results, rcond=1e-9)[0]
        if size(results - np.dot(table, weights)) <= most:
            return name
    return None


def _order(ours, theirs, noise):
    """Which input channels of ours are those of theirs; None if they are not the same."""
    rows = [kernel.reshape(len(kernel), -1) for kernel in (ours, theirs)]
    order = [int(np.argmin(((rows[0] - row) ** 2).sum(1))) for row in rows[1]]
    if sorted(order) != list(range(len(order))) or size(theirs - ours[order]) > noise:
        return None
    return order
