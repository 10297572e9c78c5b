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
    layers=frozenset(["embedding", "untied", "attention", "rotary", "ignored"]),
    initialize=gpt2_normal,
    hp=GPT.hp,
    whole=(6000, 4),
    quick=(6000, 1),
    batches_sha256="048c94e876b41eb5c6a9896ccae36392d0f9b7f7d7e672024a4bdd7765bbe477",
    challenge="""\
Texts of {steps} characters, as numbers from 0 to 64, (n, {steps}). N is 0, 1, 2 or 3; D is 128.
Nothing has a bias.

    tokens.weight (65, D)  a row for each character
    4 blocks; in block blocks.N, x becomes
        x + attention(norm1(x)), and then
        x + mlp.down(silu(mlp.gate(norm2(x))) * mlp.up(norm2(x)))
    norm
    head                   65 scores of the next character

norm1, norm2 and norm divide each place by its root mean square, sqrt(mean of x^2 + 0.00001), and
multiply by the weight.

attention: attention.q gives 4 heads of 32 neighbouring numbers, attention.k and attention.v give 2.
Query heads 0 and 1 use key and value head 0, query heads 2 and 3 use head 1. Queries and keys are
rotated: at place p, from 0, the pair of numbers (a, b) = (x[i], x[i + 16]) of a head, i from 0 to
15, becomes (a cos t - b sin t, b cos t + a sin t), where t = p * 10000^(-2 i / 32). A place's
scores in a head are the products of its query with all keys, divided by sqrt(32); those of later
places are minus infinity. The softmax of the scores weighs the values. The results of the heads are
put side by side again, and attention.out follows.

mlp.gate and mlp.up give 344 numbers, mlp.down gives D. silu(x) = x / (1 + exp(-x)). Nothing is
dropped. Padding needs no mask, because it comes after all that counts.""",
)
