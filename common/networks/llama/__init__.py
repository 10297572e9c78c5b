"""A small Llama on Shakespeare's speeches: rotary positions, grouped heads, padding."""

from collections import OrderedDict

from common.data import shakespeare
from common.networks.gpt import GPT
from common.networks.initializers import gpt2_normal
from common.networks.model import TOKENS, Model

WIDTH, HEADS, KEY_HEADS, BLOCKS, CONTEXT = 128, 4, 2, 4, shakespeare.CONTEXT
HIDDEN = 344  # two thirds of 4 * WIDTH, rounded up to a multiple of 8


def _shapes():
    """{canonical name: shape}; nothing has a bias, and the head has a weight of its own."""
    words, narrow = len(shakespeare.CHARACTERS), WIDTH * KEY_HEADS // HEADS
    shapes = OrderedDict([("tokens.weight", (words, WIDTH))])
    for number in range(BLOCKS):
        block = "blocks.%d." % number
        shapes.update(
            [
                (block + "norm1.weight", (WIDTH,)),
                (block + "attention.q.weight", (WIDTH, WIDTH)),
                (block + "attention.k.weight", (narrow, WIDTH)),
                (block + "attention.v.weight", (narrow, WIDTH)),
                (block + "attention.out.weight", (WIDTH, WIDTH)),
                (block + "norm2.weight", (WIDTH,)),
                (block + "mlp.gate.weight", (HIDDEN, WIDTH)),
                (block + "mlp.up.weight", (HIDDEN, WIDTH)),
                (block + "mlp.down.weight", (WIDTH, HIDDEN)),
            ]
        )
    shapes["norm.weight"], shapes["head.weight"] = (WIDTH,), (words, WIDTH)
    return shapes


SHAPES = _shapes()
LAYERS = [name[: -len(".weight")] for name, shape in SHAPES.items() if len(shape) > 1]

LLAMA = Model(
    name="llama",
    order=9,
    title="Llama on Shakespeare's speeches",
    task=TOKENS,
    data=shakespeare.load_speeches,
    observation=(CONTEXT,),
    shapes=SHAPES,
    positions=dict(dict.fromkeys(LAYERS, CONTEXT), tokens=0),
    products=2 * BLOCKS * CONTEXT**2 * WIDTH,
    layers=frozenset(["embedding", "attention", "rotary", "ignored"]),
    initialize=gpt2_normal,
    hp=GPT.hp,
    whole=(6000, 4),
    quick=(6000, 1),
    batches_sha256="048c94e876b41eb5c6a9896ccae36392d0f9b7f7d7e672024a4bdd7765bbe477",
)
