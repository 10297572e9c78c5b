"""The form of a folder's ``variants.py`` and ``traps.py``, and levers that several folders share.

``variants.py`` has ``LEVERS``, a list, and ``LESSONS``, {lesson's mistake: patches}; ``traps.py``
has ``TRAPS``, a list. Both files are optional. A second idiom in a folder has its own, such as
``traps_module.py`` beside ``cnn_module.py``.

A patch is old code, which is in one place of the module, and new code. A third element, such as
"backends", names another file of the folder, from which the module imports names. Comments,
docstrings and layout do not matter; see ``common/system/patches.py``.

Nothing here names a framework, and nothing imports one.
"""

from typing import Dict, NamedTuple, Optional, Tuple

Patches = Tuple[Tuple[str, ...], ...]


class Lever(NamedTuple):
    """A change to lane best, which ``tox run -e bench -- NAME --levers`` tries alone."""

    name: str
    says: str  # what lane best has, or what is tried
    patches: Patches  # of the module
    environ: Dict[str, str]  # of the process
    kept: bool  # lane best has it, and the lever takes it away
    model: str = "cnn"
    amd: Optional[bool] = None  # for AMD's processors alone, or for none of them
    only: Tuple[str, ...] = ()  # the environments; without any, all that need no GPU


class Trap(NamedTuple):
    """A mistake that is planted in this framework alone."""

    name: str  # in words, joined by underscores
    rung: str  # must catch it
    patches: Patches  # of the module
    only: Tuple[str, ...] = ()  # the environments; without any, all
    model: str = "cnn"
    raises: bool = False  # the framework refuses it with an error


def kept(name, says, *patches, amd=None, only=(), **environ):
    """A lever that takes away what lane best has."""
    return Lever(name, says, patches, environ, True, amd=amd, only=only)


def tried(name, says, *patches, model="cnn", amd=None, only=(), **environ):
    """A lever that gained nothing, so lane best does without."""
    return Lever(name, says, patches, environ, False, model, amd, only)


def trap(name, rung, *patches, only=(), model="cnn", raises=False):
    """A trap; its patches are arguments."""
    return Trap(name, rung, patches, only, model, raises)


def pool_first(*patches, only=()):
    """A lever that several folders try."""
    return tried("pool_first", "pool before the ReLU", *patches, only=only)


def input_gradient(*patches):
    """A lever: the gradient of the images is computed, too."""
    return kept("input_gradient", "no gradient of the images", *patches)


FREED = kept(
    "freed",
    "freed memory kept by the process",
    MALLOC_MMAP_THRESHOLD_="131072",  # as in glibc
    MALLOC_TRIM_THRESHOLD_="131072",
    MALLOC_TOP_PAD_="131072",
)


def mkl_paths(only=()):
    """What MKL up to 2020 uses: 0 for any processor, as on an AMD; 5 for AVX2; 7 for AVX-512."""
    says = "MKL told that an AMD is an Intel"
    return [
        kept("any_cpu", says, amd=True, only=only, MKL_DEBUG_CPU_TYPE="0"),
        tried("cpu_type", says, amd=False, only=only, MKL_DEBUG_CPU_TYPE="5"),
        tried(
            "cpu_type_avx512", says + " with AVX-512", amd=True, only=only, MKL_DEBUG_CPU_TYPE="7"
        ),
    ]
