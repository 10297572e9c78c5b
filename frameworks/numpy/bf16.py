"""Mixed precision in NumPy: products of bfloat16, sums, weights and updates of float32.

Idiom: a wrapper around each layer that multiplies. It rounds inputs and results in the
    forward and the backward pass; the layer inside is unchanged.
Surprise: a bfloat16 is a float32 without its lower 16 bits: the same range, and two to three
    digits. NumPy has none, so this gives the numbers of mixed precision but not its speed.
"""

from frameworks.numpy.layers import Convolution, Dense, Layer, xp
from frameworks.numpy.strips import unfused

BITS = {"float32": (xp.uint32, 16), "float64": (xp.uint64, 45)}  # integer type, bits to drop


def rounded(x):
    """Round to bfloat16's 8 significant bits, ties to even; the array keeps its type."""
    integer, lower = BITS[x.dtype.name]
    bits = xp.ascontiguousarray(x).view(integer)
    last = bits >> integer(lower) & integer(1)  # the last bit that is kept
    bits = bits + (integer(2 ** (lower - 1) - 1) + last)
    return (bits >> integer(lower) << integer(lower)).view(x.dtype)


class Rounded(Layer):
    """A layer that multiplies, with inputs and results rounded to bfloat16."""

    def __init__(self, settings, layer):
        super().__init__(settings, layer.name)
        self.layer, self.kinds = layer, layer.kinds

    def forward(self, x, training):
        """Round the input, the weights and the result."""
        self.layer.parameters = [rounded(w) for w in self.parameters]
        return rounded(self.layer.forward(rounded(x), training))

    def backward(self, g):
        """Round the gradients: of the result, of the weights and of the input."""
        self.layer.gradients = self.gradients
        g = self.layer.backward(rounded(g))
        for gradient in self.gradients:
            gradient[:] = rounded(gradient)
        return None if g is None else rounded(g)


def functions(module, products="bfloat16", kind=Rounded):
    """The functions of a network's ``module`` that differ in this lane: {name: function}.

    products, kind: what the settings call its products, and the wrapper of each.
    """

    def configure(lane, threads, seed):
        """As in lane best, without strips of images."""
        settings = module.configure("best", threads, seed)
        del settings["chunk_images"], settings["shares"]
        return dict(settings, products=products)

    def symbol(settings, hp):
        """The network with every product rounded."""
        network = unfused(settings, module.symbol(settings, hp))
        multiply = (Convolution, Dense)
        return [
            kind(settings, layer) if isinstance(layer, multiply) else layer for layer in network
        ]

    return dict(configure=configure, symbol=symbol)
