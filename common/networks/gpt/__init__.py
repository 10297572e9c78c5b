"""A small GPT-2 on the characters of Shakespeare's plays, by nanoGPT's recipe for a CPU."""

from collections import OrderedDict

from common.data import shakespeare
from common.networks.hyperparameters import AdamW
from common.networks.initializers import gpt2_normal
from common.networks.model import TOKENS, Model

WIDTH, HEADS, BLOCKS, CONTEXT = 128, 4, 4, shakespeare.CONTEXT


def _shapes():
    """{canonical name: shape}; the head is tied to ``tokens.weight``."""
    shapes = OrderedDict()

    def layer(name, *shape):
        shapes[name + ".weight"], shapes[name + ".bias"] = shape, shape[:1]

    shapes["tokens.weight"] = (len(shakespeare.CHARACTERS), WIDTH)
    shapes["positions.weight"] = (CONTEXT, WIDTH)
    for number in range(BLOCKS):
        block = "blocks.%d." % number
        layer(block + "norm1", WIDTH)
        layer(block + "attention.qkv", 3 * WIDTH, WIDTH)
        layer(block + "attention.out", WIDTH, WIDTH)
        layer(block + "norm2", WIDTH)
        layer(block + "mlp.up", 4 * WIDTH, WIDTH)
        layer(block + "mlp.down", WIDTH, 4 * WIDTH)
    layer("norm", WIDTH)
    return shapes


SHAPES = _shapes()
LAYERS = [name[: -len(".weight")] for name, shape in SHAPES.items() if len(shape) > 1]

GPT = Model(
    name="gpt",
    order=8,
    title="GPT on Shakespeare",
    task=TOKENS,
    data=shakespeare.load,
    observation=(CONTEXT,),
    shapes=SHAPES,
    # The head multiplies by the tokens' embedding at each position; positions are only added.
    positions=dict(dict.fromkeys(LAYERS, CONTEXT), positions=0),
    products=2 * BLOCKS * CONTEXT**2 * WIDTH,
    layers=frozenset(["embedding", "attention", "layernorm", "gelu", "tied"]),
    initialize=gpt2_normal,
    hp=AdamW(
        batch_size=12,
        learning_rate=1e-3,
        beta1=0.9,
        beta2=0.99,
        epsilon=1e-8,
        dropout=(),
        weight_decay=0.1,
        clip=1.0,
        warmup=100,
        steps=2000,
        last_rate=1e-4,
    ),
    whole=(24000, 1),
    quick=(6000, 1),
    batches_sha256="79eea0ac5cab266577543ae01f673e2e6f11e4b3a5c01fe8ccd0087add365d3e",
    challenge="""\
Texts of {steps} characters, as numbers from 0 to 64, (n, {steps}). N is 0, 1, 2 or 3; D is 128.

    tokens.weight (65, D)     a row for each character
    positions.weight ({steps}, D)  a row for each place, from 0; it is added
    4 blocks; in block blocks.N, x becomes
        x + attention(norm1(x)), and then
        x + mlp.down(gelu(mlp.up(norm2(x))))
    norm
    the scores of the next character: the product with tokens.weight, transposed (a tied head)

norm1, norm2 and norm are layer normalisations of each place: (x - mean) / sqrt(variance + 0.00001),
with the variance divided by D; then times weight, plus bias.

attention: attention.qkv gives 3 D numbers for each place. The first D are the queries, the next D
the keys, the last D the values. Each third has 4 heads of 32 neighbouring numbers. A place's scores
in a head are the products of its query with all keys, divided by sqrt(32); those of later places
are minus infinity. The softmax of the scores weighs the values. The results of the heads are put
side by side again, and attention.out follows.

mlp.up gives 4 D numbers, mlp.down D. gelu(x) = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
Nothing is dropped.""",
)
