"""TF32 in NumPy: products of factors with 11 significant bits; everything else is float32.

Idiom: a wrapper around each layer that multiplies. It cuts the factors of its products; the layer
    inside is unchanged.
Surprise: an H100 with cuBLAS and cuDNN rounds, and uses TF32 for some sizes of a product only.
    Cutting is the most that TF32 may be off. NumPy has no TF32, so this shows no speed.
"""

from frameworks.numpy.bf16 import BITS, Rounded
from frameworks.numpy.bf16 import functions as mixed
from frameworks.numpy.layers import xp

KEPT = 3  # TF32 has so many bits more than bfloat16


def cut(x):
    """Cut to TF32's 11 significant bits; the array keeps its type."""
    integer, lower = BITS[x.dtype.name]
    lower = integer(lower - KEPT)
    return (xp.ascontiguousarray(x).view(integer) >> lower << lower).view(x.dtype)


class Cut(Rounded):
    """A layer that multiplies, with the factors of its products cut to TF32."""

    def forward(self, x, training):
        """Cut the input and the weight, but not the bias, which is added."""
        weight, *bias = self.parameters
        self.layer.parameters = [cut(weight), *bias]
        return self.layer.forward(cut(x), training)

    def backward(self, g):
        """Cut the gradient of the result. The bias's is a sum of it, which others do not cut."""
        self.layer.gradients = self.gradients
        return self.layer.backward(cut(g))


def functions(module):
    """The functions of a network's ``module`` that differ in this lane: {name: function}."""
    return mixed(module, "tf32", Cut)
