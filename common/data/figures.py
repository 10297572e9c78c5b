"""Drawn figures, in which a pose network learns to find 14 joints.

Position, size, colours and limbs vary, the background is cluttered, and objects hide some joints.
So a network that ignores the image can do no better than the mean pose.

A direction is (2 t, 1 - t * t) / (1 + t * t) for some t; products and sums decide which pixels to
paint. IEEE 754 defines how these are rounded, so every CPU draws the same bytes; ``sin`` may
differ.
"""

import numpy as np

from common.data.dataset import Dataset, sha256_of
from common.system.errors import InputError

SIDE = 220  # pixels of an image
SEED = 30
TRAIN, TEST = 2000, 500
# In the order of the Leeds Sports Pose data set; right is the figure's right.
JOINTS = (
    "right ankle",
    "right knee",
    "right hip",
    "left hip",
    "left knee",
    "left ankle",
    "right wrist",
    "right elbow",
    "right shoulder",
    "left shoulder",
    "left elbow",
    "left wrist",
    "neck",
    "head",
)
# (joint, joint, width in units, the part that has the same colour).
LIMBS = (
    (9, 10, 0.7, "shirt"),
    (10, 11, 0.55, "skin"),
    (3, 4, 0.9, "trousers"),
    (4, 5, 0.7, "trousers"),
    (2, 1, 0.9, "trousers"),
    (1, 0, 0.7, "trousers"),
    (12, 2, 1.1, "shirt"),
    (12, 3, 1.1, "shirt"),
    (2, 3, 1.0, "shirt"),
    (8, 9, 0.8, "shirt"),
    (12, 13, 0.6, "skin"),
    (13, 13, 1.3, "skin"),
    (8, 7, 0.7, "shirt"),
    (7, 6, 0.55, "skin"),
)
HIDDEN = -1.0  # x and y of a hidden joint


def load(where="auto"):
    """The data set; InputError for a folder, because there is nothing to read.

    An image's target is (14, 3) float32: for a visible joint, x and y from the image's centre, in
    sides of the image, and 1; for a hidden one, -1, -1 and 0.
    """
    if where not in ("auto", "synthetic"):
        raise InputError("%s: the figures are drawn; --data takes auto or synthetic" % where)
    images, targets = draw(TRAIN + TEST, SEED)
    sha256 = sha256_of(images, targets)
    parts = images[:TRAIN], targets[:TRAIN], images[TRAIN:], targets[TRAIN:]
    return Dataset("drawn figures", sha256, *parts)


def draw(n, seed):
    """Images (n, 3, 220, 220) uint8 and targets (n, 14, 3) float32; a larger n only adds images."""
    images = np.empty((n, 3, SIDE, SIDE), np.uint8)
    targets = np.empty((n, len(JOINTS), 3), np.float32)
    for number in range(n):
        images[number], targets[number] = _figure(np.random.RandomState([seed, number]))
    return images, targets


def _figure(random):
    """An image (3, 220, 220) and its target (14, 3)."""

    def uniform(low, high):
        return low + (high - low) * random.randint(0, 1025) / 1024.0

    def colour():
        return random.randint(0, 256, (3, 1, 1)).astype(np.uint8)

    def rectangle(smallest, largest):
        height, width = random.randint(smallest, largest, 2)
        row, column = random.randint(-20, SIDE - 20, 2)
        ends = max(row + height, 0), max(column + width, 0)
        return slice(max(row, 0), ends[0]), slice(max(column, 0), ends[1])

    image = np.empty((3, SIDE, SIDE), np.uint8)
    image[:] = colour()
    for _ in range(random.randint(4, 13)):
        rows, columns = rectangle(15, 110)
        image[:, rows, columns] = colour()
    unit = uniform(11, 19)  # pixels; a figure is 8 to 9 units tall
    joints = _joints(uniform, unit)
    colours = {name: colour() for name in ("skin", "shirt", "trousers")}
    for start, end, width, whose in LIMBS:
        _capsule(image, joints[start], joints[end], width * unit / 2, colours[whose])
    inside = ((joints >= 0) & (joints < SIDE)).all(1)
    for _ in range(random.randint(0, 4)):
        rows, columns = rectangle(25, 75)
        image[:, rows, columns] = colour()
        x, y = joints.T
        inside &= ~((x >= columns.start) & (x < columns.stop) & (y >= rows.start) & (y < rows.stop))
    target = np.full((len(JOINTS), 3), HIDDEN, np.float32)
    target[inside, :2] = joints[inside] / SIDE - 0.5
    target[:, 2] = inside
    return image, target


def _joints(uniform, unit):
    """The joints' positions (14, 2): x and y in pixels, from the top left corner."""

    def away(start, length, lean):
        """The point ``length`` units from ``start``: below it if lean is 0, to the right if 1."""
        norm = 1 + lean * lean
        return start + unit * length * np.array([2 * lean, 1 - lean * lean]) / norm

    hips = np.array([uniform(60, SIDE - 60), uniform(90, SIDE - 70)])
    lean = uniform(-0.15, 0.15)
    across = away(np.zeros(2), 1, lean)[::-1] * (1, -1)  # to its left: the image's right
    neck = away(hips, -3, lean)
    joints = np.empty((len(JOINTS), 2))
    joints[12], joints[13] = neck, away(neck, -1, lean + uniform(-0.15, 0.15))
    for side, ankle, knee, hip, wrist, elbow, shoulder in (
        (-1, 0, 1, 2, 6, 7, 8),
        (1, 5, 4, 3, 11, 10, 9),
    ):
        joints[shoulder] = neck + side * 0.9 * across
        joints[hip] = hips + side * 0.5 * across
        arm = side * uniform(-0.1, 1.3)
        joints[elbow] = away(joints[shoulder], 1.6, arm)
        joints[wrist] = away(joints[elbow], 1.5, arm + side * uniform(-0.5, 0.7))
        leg = side * uniform(-0.05, 0.4)
        joints[knee] = away(joints[hip], 2, leg)
        joints[ankle] = away(joints[knee], 2, leg - side * uniform(0, 0.3))
    return joints


def _capsule(image, start, end, radius, colour):
    """Paint every pixel within ``radius`` of the line from start to end."""
    lowest = np.floor(np.minimum(start, end) - radius).astype(int)
    highest = np.ceil(np.maximum(start, end) + radius).astype(int) + 1
    (left, top), (right, bottom) = np.clip(lowest, 0, SIDE), np.clip(highest, 0, SIDE)
    x = np.arange(left, right)[None, :] - start[0]
    y = np.arange(top, bottom)[:, None] - start[1]
    dx, dy = end - start
    along = np.clip((x * dx + y * dy) / max(dx * dx + dy * dy, 1e-9), 0, 1)
    near = (x - along * dx) ** 2 + (y - along * dy) ** 2 <= radius * radius
    part = image[:, top:bottom, left:right]
    np.copyto(part, colour, where=near)
