"""How oneDNN computes a step's convolutions, from what it prints, and how much of that is padding.

A CPU computes with vectors of 8 or 16 numbers. A kernel whose vectors lie along the channels fills
the last one up: of 50 channels it makes 64. In a blocked layout (``nChw16c``) inputs and outputs
are both filled up. The layout of a kernel's weights says which axes are blocked.
"""

import re
from collections import OrderedDict

# MKL-DNN, DNNL and oneDNN are the same library; each of its names has a switch.
SWITCHES = {"MKLDNN_VERBOSE": "1", "DNNL_VERBOSE": "1", "ONEDNN_VERBOSE": "1"}
MARK = "one step follows"  # printed when all is warm

LINE = re.compile(
    r"^(?:mkldnn|dnnl|onednn)_verbose,.*?\bconvolution,(?P<kernel>[^,]+),(?P<direction>\w+),"
    r"(?P<layouts>[^,]*),.*\bmb(?P<images>\d+)_(?:g1)?ic(?P<inputs>\d+)oc(?P<outputs>\d+)_"
    r"ih\d+oh(?P<height>\d+)kh(?P<kernel_height>\d+)\w*_iw\d+ow(?P<width>\d+)kw(?P<kernel_width>\d+)"
)
WEIGHTS = re.compile(r"\bf?wei[:_](?:\S*blocked:)?(\w+)")


def read(text):
    """What is printed after ``MARK``: a list of each convolution's kernel; [] where oneDNN is mute.

    multiply_adds: the convolution's own; computed: those of the filled vectors.
    """
    found = []
    for line in text.rpartition(MARK)[2].splitlines():
        match = LINE.match(line.strip())
        if not match:
            continue
        said = match.groupdict()
        layout = WEIGHTS.search(said["layouts"]).group(1)
        outputs, inputs = int(said["outputs"]), int(said["inputs"])
        sizes = ("images", "height", "width", "kernel_height", "kernel_width")
        others = 1
        for size in sizes:
            others *= int(said[size])
        vector = width(said["kernel"])
        computed = others
        # A capital is a blocked axis: A or O of the outputs, B or I of the inputs.
        computed *= filled(outputs, vector) if re.search("[AO]", layout) else outputs
        computed *= filled(inputs, vector) if re.search("[BI]", layout) else inputs
        found.append(
            OrderedDict(
                direction=said["direction"],
                kernel=said["kernel"],
                weights=layout,
                inputs=inputs,
                outputs=outputs,
                multiply_adds=others * inputs * outputs,
                computed=computed,
            )
        )
    return found


def width(kernel):
    """How many float32 numbers a kernel's vectors hold; 1 if its name does not say."""
    return 16 if "avx512" in kernel else 8 if "avx2" in kernel else 1


def filled(channels, vector):
    """Channels with those of the last vector."""
    return -(-channels // vector) * vector


def own_share(found):
    """The part of the kernels' arithmetic that is the network's own."""
    return sum(one["multiply_adds"] for one in found) / sum(one["computed"] for one in found)
