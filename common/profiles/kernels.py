"""Read oneDNN's log of a step's convolutions, and compute how much of their work is padding.

A CPU computes with vectors of 8 or 16 numbers. A kernel with vectors along the channels pads the
last vector: 50 channels become 64. If its input has a blocked layout (``nChw16c``), it multiplies
the padding of the last block as well.
"""

import re
from collections import OrderedDict

import numpy as np

# MKL-DNN, DNNL and oneDNN are names of one library, each with its own switch.
SWITCHES = {"MKLDNN_VERBOSE": "1", "DNNL_VERBOSE": "1", "ONEDNN_VERBOSE": "1"}
MARK = "one step follows"  # printed after the warm-up

LINE = re.compile(
    r"(?:mkldnn|dnnl|onednn)_verbose,.*?\bconvolution,(?P<kernel>[^,]+),(?P<direction>\w+),"
    r"(?P<layouts>[^,]*),.*\bmb(?P<images>\d+)_(?:g1)?ic(?P<inputs>\d+)oc(?P<outputs>\d+)_"
    r"ih\d+oh(?P<height>\d+)kh(?P<kernel_height>\d+)\w*_iw\d+ow(?P<width>\d+)kw(?P<kernel_width>\d+)"
)
# fsrc:nChw16c, or src_f32:p:blocked:aBcd16b:f0, or src:f32::blocked:acdb::f0
LAYOUT = r"\bf?%s[:_](?:(?P<type>\w+):\w*:blocked:)?(?P<layout>\w+)"
VECTORS = (("avx512", 16), ("avx10_1_512", 16), ("avx2", 8))  # float32 numbers in each
# By direction: the channels along the vectors, the other channels, the array with the others.
ROLES = {
    "forward": ("outputs", "inputs", "src"),
    "backward_data": ("inputs", "outputs", "dst"),
    "backward_weights": ("outputs", "inputs", "src"),
}


def read(text):
    """A list of the convolutions' kernels that oneDNN printed after ``MARK``.

    src, weights, dst: the layouts, as oneDNN writes them.
    """
    kernels = []
    for line in text.partition(MARK)[2].splitlines():
        match = LINE.search(line)
        if not match:
            continue
        fields = match.groupdict()
        layouts = [re.search(LAYOUT % array, fields["layouts"]) for array in ("src", "wei", "dst")]
        sizes = ("images", "height", "width", "kernel_height", "kernel_width", "inputs", "outputs")
        kernels.append(
            OrderedDict(
                direction=fields["direction"],
                kernel=fields["kernel"],
                type=layouts[0].group("type") or "f32",  # MKL-DNN leaves it out
                src=layouts[0].group("layout"),
                weights=layouts[1].group("layout"),
                dst=layouts[2].group("layout"),
                inputs=int(fields["inputs"]),
                outputs=int(fields["outputs"]),
                multiply_adds=int(np.prod([int(fields[size]) for size in sizes])),
            )
        )
    return kernels


def own_share(kernels):
    """The share of the kernels' arithmetic that is not padding; None if a kernel's is unknown."""
    counts = [computed(kernel) for kernel in kernels]
    if not kernels or None in counts:
        return None
    return sum(kernel["multiply_adds"] for kernel in kernels) / sum(counts)


def computed(kernel):
    """Multiply-adds of one of ``read``'s kernels, including padding.

    None for types other than float32, and for an unknown kernel.
    """
    name = kernel["kernel"]
    if kernel["type"] != "f32" or "wino" in name:
        return None
    if re.search("gemm:(jit|blas)$", name):  # its vectors run along the pixels
        return kernel["multiply_adds"]
    vectors = [size for isa, size in VECTORS if isa in name]
    role = ROLES.get(kernel["direction"].partition("_training")[0])
    if not vectors or not role:
        return None
    lanes, others, images = role
    positions = kernel["multiply_adds"] // (kernel["inputs"] * kernel["outputs"])
    along = padded(kernel[lanes], vectors[0])
    blocked = re.search("B|C", kernel[images])  # a capital is a blocked axis
    return positions * along * (padded(kernel[others], vectors[0]) if blocked else kernel[others])


def padded(channels, vector):
    """Channels rounded up to whole vectors."""
    return -(-channels // vector) * vector
