"""An LSTM that continues a sine wave: it predicts the next value, then runs on its own output."""

from collections import OrderedDict

from common.data import wave
from common.networks.hyperparameters import Adam
from common.networks.initializers import xavier_uniform
from common.networks.model import VALUES, Model

LSTM = Model(
    name="lstm",
    order=5,
    title="LSTM on a sine wave",
    task=VALUES,
    data=wave.load,
    observation=(wave.STEPS, 1),
    shapes=OrderedDict(
        [
            ("dense1.weight", (5, 1)),
            ("dense1.bias", (5,)),
            ("lstm.input.weight", (20, 5)),
            ("lstm.recurrent.weight", (20, 5)),
            ("lstm.bias", (20,)),
            ("dense2.weight", (1, 5)),
            ("dense2.bias", (1,)),
        ]
    ),
    positions=dict.fromkeys(["dense1", "lstm.input", "lstm.recurrent", "dense2"], wave.STEPS),
    layers=frozenset(["recurrent"]),
    initialize=xavier_uniform,
    hp=Adam(batch_size=20, learning_rate=1e-2, beta1=0.9, beta2=0.999, epsilon=1e-8, dropout=()),
    whole=(2000, 20),
    quick=(2000, 5),
    batches_sha256="8741d8a32e0aa93496cea135850598c9502df04c1084793c4da3bdaa48be9e4e",
    phrases={
        "LSTM": "",
        "order of the gates": "head: Gates",
        "state carried": "head: State",
        "gradient truncated": "",
        "free-running": "",
    },
    challenge="""\
Sequences (n, {steps}, 1), from a state of zeros each.

    dense1  5, at each step, without an activation
    lstm    5 units: a = W x + R h + b, where W is lstm.input.weight, R lstm.recurrent.weight, and
            b lstm.bias; the quarters of a are i, f, g, o, in this order (input, forget, cell,
            output); c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c)
    dense2  1, at each step

In training the gradient goes back over chunks of 10 steps: the state is carried from one chunk to
the next, the gradient is not. It is one step of the optimiser for a batch, with the gradient of all
its chunks.

In prediction a sequence of {steps} gives {values} values: one for each step, and then as many
again, where the network is fed with its own last value and goes on from its state.""",
)
