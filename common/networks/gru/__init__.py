"""A GRU that tells positive sentences of film reviews from negative ones, word by word."""

from collections import OrderedDict

from common.data import reviews
from common.networks.hyperparameters import Adam
from common.networks.initializers import xavier_uniform
from common.networks.model import SENTENCES, Model

FEATURES, UNITS = 125, 100

GRU = Model(
    name="gru",
    order=7,
    title="GRU on film reviews",
    task=SENTENCES,
    data=reviews.load,
    observation=(reviews.STEPS,),
    shapes=OrderedDict(
        [
            ("words.weight", (reviews.WORDS, FEATURES)),
            ("gru.input.weight", (3 * UNITS, FEATURES)),
            ("gru.recurrent.weight", (3 * UNITS, UNITS)),
            ("gru.input.bias", (3 * UNITS,)),
            ("gru.recurrent.bias", (3 * UNITS,)),
            ("dense.weight", (2, UNITS)),
            ("dense.bias", (2,)),
        ]
    ),
    positions={"words": 0, "gru.input": reviews.STEPS, "gru.recurrent": reviews.STEPS},
    layers=frozenset(["embedding", "untied", "gated"]),
    initialize=xavier_uniform,
    hp=Adam(batch_size=64, learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(9600, 3),
    quick=(9600, 1),
    batches_sha256="cb11a339ab1d3b3afb3477caf995f05d4898d486cd4408bde336a278019876ee",
    challenge="""\
Sentences of {steps} words, as numbers from 0 to 9999, (n, {steps}). A 0 is padding, which comes
first; it is a word like any other.

    words.weight (10000, 125)  a row for each word
    gru    100 units, from a state h of zeros: a = W x + b and c = R h + d, where W is
           gru.input.weight, b gru.input.bias, R gru.recurrent.weight and d gru.recurrent.bias; the
           thirds of a and of c are those of the reset gate r, the update gate z and the new state
           n, in this order; r = sigmoid(a_r + c_r); z = sigmoid(a_z + c_z);
           n = tanh(a_n + r * c_n); the next h is (1 - z) * n + z * h
    dense  2, from the last h""",
)
