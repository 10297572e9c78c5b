"""Flax's levers, and the mistakes of the lessons."""

from frameworks.variants import XLA, kept, pool_first, tried

LEVERS = [
    *XLA,
    kept(
        "state_kept",
        "the old state donated",
        ('@nnx.jit(donate_argnames=("network", "optimizer"))', "@nnx.jit"),
    ),
    pool_first(
        ("x = nnx.relu(self.conv2(x))\nx = self.pool(x)", "x = nnx.relu(self.pool(self.conv2(x)))"),
        ("x = nnx.relu(self.conv4(x))\nx = self.pool(x)", "x = nnx.relu(self.pool(self.conv4(x)))"),
    ),
    tried(
        "tree_mode",
        "no graph of objects: networks as trees",
        (
            '@nnx.jit(donate_argnames=("network", "optimizer"))',
            '@nnx.jit(donate_argnames=("network", "optimizer"), graph=False)',
        ),
    ),
]

LESSONS = {
    "softmax_twice": (
        (
            "optax.softmax_cross_entropy_with_integer_labels(network(x), y)",
            "optax.softmax_cross_entropy_with_integer_labels(nnx.softmax(network(x)), y)",
        ),
    ),
    "dropout_in_prediction": (("network.eval()", "network.train()"),),
}
