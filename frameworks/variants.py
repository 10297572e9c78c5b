"""The types of a folder's ``variants.py`` and ``traps.py``, and levers that several folders share.

``variants.py`` has ``LEVERS``, a list, and ``LESSONS``, {lesson's mistake: patches}; ``traps.py``
has ``TRAPS``, a list. Both files are optional. A second idiom in a folder has files of its own,
such as ``traps_module.py`` beside ``cnn_module.py``.

A patch is a pair of old code, which occurs once in the module, and new code. A third element, such
as "backends", names another file of the folder, from which the module imports names. Comments,
docstrings and layout do not matter; see ``common/system/patches.py``.

This file neither names a framework nor imports one.
"""

from typing import Dict, NamedTuple, Optional, Tuple

Patches = Tuple[Tuple[str, ...], ...]


class Lever(NamedTuple):
    """One change to lane best, which ``tox run -e bench -- NAME --levers`` times on its own."""

    name: str
    says: str  # what lane best has, or what is tried
    patches: Patches  # of the module
    environ: Dict[str, str]  # of the process
    kept: bool  # whether lane best has it, so that the lever removes it
    model: str = "cnn"
    amd: Optional[bool] = None  # True: only for AMD's processors; False: only for others
    only: Tuple[str, ...] = ()  # environments; if empty, all that need no GPU


class Trap(NamedTuple):
    """A mistake to plant only in this framework."""

    name: str  # words, joined by underscores
    rung: str  # the rung that must catch it
    patches: Patches  # of the module
    only: Tuple[str, ...] = ()  # environments; if empty, all
    model: str = "cnn"
    raises: bool = False  # whether the framework rejects it with an error


def kept(name, says, *patches, model="cnn", amd=None, only=(), **environ):
    """A lever that removes a setting of lane best."""
    return Lever(name, says, patches, environ, True, model, amd, only)


def tried(name, says, *patches, model="cnn", amd=None, only=(), **environ):
    """A lever that lane best does not have: it gained nothing, or would hide the network."""
    return Lever(name, says, patches, environ, False, model, amd, only)


def trap(name, rung, *patches, only=(), model="cnn", raises=False):
    """A trap with these patches."""
    return Trap(name, rung, patches, only, model, raises)


def pool_first(*patches):
    """A lever: pool before the ReLU."""
    return tried("pool_first", "pool before the ReLU", *patches)


def full_vectors(*patches):
    """A lever: channels that fill vectors; see ``channels.py``. It would hide the network's own."""
    use = ("import numpy as np", "import numpy as np\n\nfrom frameworks import channels")
    return tried("full_vectors", "64 and 112 channels, padded with zeros", use, *patches)


def input_gradient(*patches):
    """A lever: compute the gradient of the images too."""
    return kept("input_gradient", "no gradient of the images", *patches)


# Levers of what XLA compiles, for modules whose ``configure`` chooses in the same words.
XLA = [
    kept(
        "ynn",
        "XLA's older convolutions",
        ("OLDER_CONVOLUTIONS if best else", "OLDER_CONVOLUTIONS if False else"),
    ),
    kept(
        "threefry",
        "dropout's masks from the generator `rbg`, not `threefry`",
        ('"rbg" if best', '"threefry2x32" if best'),
    ),
    kept(
        "windows",
        "the pool as comparisons of pixels",
        ('"comparisons" if best', '"windows" if best'),
    ),
]


# Levers of every environment that needs no GPU. The values of those that are kept are glibc's own.
MEMORY = [
    kept(
        "freed",
        "freed memory kept by the process",
        MALLOC_MMAP_THRESHOLD_="131072",
        MALLOC_TRIM_THRESHOLD_="131072",
        MALLOC_TOP_PAD_="131072",
    ),
    kept("heaps", "one heap for all threads", MALLOC_ARENA_MAX="0"),
    tried("huge_pages", "pages of 2 MiB", GLIBC_TUNABLES="glibc.malloc.hugetlb=1"),
]


INTELS_CODE = "MKL uses Intel's code on an AMD"


def mkl_paths(only=()):
    """Levers for the code that MKL up to 2020 uses: 0 any processor's, 5 AVX2, 7 AVX-512."""
    with_avx512 = INTELS_CODE + " with AVX-512"
    return [
        kept("any_cpu", INTELS_CODE, amd=True, only=only, MKL_DEBUG_CPU_TYPE="0"),
        tried("cpu_type", INTELS_CODE, amd=False, only=only, MKL_DEBUG_CPU_TYPE="5"),
        tried("cpu_type_avx512", with_avx512, amd=True, only=only, MKL_DEBUG_CPU_TYPE="7"),
    ]


def newer_mkl(model="cnn", only=()):
    """A lever for the code that a later MKL uses."""
    return kept("any_cpu", INTELS_CODE, model=model, amd=True, only=only, LD_PRELOAD="")
