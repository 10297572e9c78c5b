"""How oneDNN computes a step's convolutions, from what it prints, and how much of that is padding.

A CPU computes with vectors of 8 or 16 numbers. A kernel whose vectors lie along the channels fills
the last one up: of 50 channels it makes 64. Where the images it reads lie in a blocked layout, too
(``nChw16c``), it also multiplies what fills their last block.
"""

import re
from collections import OrderedDict

import numpy as np

# MKL-DNN, DNNL and oneDNN are the same library; each of its names has a switch.
SWITCHES = {"MKLDNN_VERBOSE": "1", "DNNL_VERBOSE": "1", "ONEDNN_VERBOSE": "1"}
MARK = "one step follows"  # printed when all is warm

LINE = re.compile(
    r"(?:mkldnn|dnnl|onednn)_verbose,.*?\bconvolution,(?P<kernel>[^,]+),(?P<direction>\w+),"
    r"(?P<layouts>[^,]*),.*\bmb(?P<images>\d+)_(?:g1)?ic(?P<inputs>\d+)oc(?P<outputs>\d+)_"
    r"ih\d+oh(?P<height>\d+)kh(?P<kernel_height>\d+)\w*_iw\d+ow(?P<width>\d+)kw(?P<kernel_width>\d+)"
)
# fsrc:nChw16c, or src_f32:p:blocked:aBcd16b:f0, or src:f32::blocked:acdb::f0
LAYOUT = r"\bf?%s[:_](?:(?P<type>\w+):\w*:blocked:)?(?P<layout>\w+)"
VECTORS = (("avx512", 16), ("avx10_1_512", 16), ("avx2", 8))  # float32 numbers in each
# By direction: the channels along which the vectors lie, the others, and whose layout these have.
ROLES = {
    "forward": ("outputs", "inputs", "src"),
    "backward_data": ("inputs", "outputs", "dst"),
    "backward_weights": ("outputs", "inputs", "src"),
}


def read(text):
    """What is printed after ``MARK``: a list of each convolution's kernel; [] where oneDNN is mute.

    src, weights, dst: the layouts, as oneDNN writes them.
    """
    found = []
    for line in text.partition(MARK)[2].splitlines():
        match = LINE.search(line)
        if not match:
            continue
        said = match.groupdict()
        layouts = [re.search(LAYOUT % one, said["layouts"]) for one in ("src", "wei", "dst")]
        sizes = ("images", "height", "width", "kernel_height", "kernel_width", "inputs", "outputs")
        found.append(
            OrderedDict(
                direction=said["direction"],
                kernel=said["kernel"],
                type=layouts[0].group("type") or "f32",  # MKL-DNN does not say it
                src=layouts[0].group("layout"),
                weights=layouts[1].group("layout"),
                dst=layouts[2].group("layout"),
                inputs=int(said["inputs"]),
                outputs=int(said["outputs"]),
                multiply_adds=int(np.prod([int(said[size]) for size in sizes])),
            )
        )
    return found


def own_share(found):
    """The part of the kernels' arithmetic that is the network's own.

    None where it cannot be told: of other numbers than float32, or of an unknown kernel.
    """
    every = [computed(one) for one in found]
    if not found or None in every:
        return None
    return sum(one["multiply_adds"] for one in found) / sum(every)


def computed(one):
    """Multiply-adds of one of ``read``'s kernels, those of the padding too; None if unknown."""
    kernel = one["kernel"]
    if one["type"] != "f32" or "wino" in kernel:
        return None
    if re.search("gemm:(jit|blas)$", kernel):  # pixels fill its vectors
        return one["multiply_adds"]
    vectors = [size for name, size in VECTORS if name in kernel]
    role = ROLES.get(one["direction"].partition("_training")[0])
    if not vectors or not role:
        return None
    lanes, others, images = role
    numbers = one["multiply_adds"] // (one["inputs"] * one["outputs"])
    along = filled(one[lanes], vectors[0])
    blocked = re.search("B|C", one[images])  # a capital is a blocked axis
    return numbers * along * (filled(one[others], vectors[0]) if blocked else one[others])


def filled(channels, vector):
    """Channels with those of the last vector."""
    return -(-channels // vector) * vector
