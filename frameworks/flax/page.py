"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": "gpu =",
    "threads": '"NPROC"',
    "precision": "jax_default_matmul_precision",
    "autotune": ("flags =", '"XLA_FLAGS"'),
    "switches": ('"ynn_convolution"', '"pool"'),
    "images": "images.transpose",
    "drop-seed": "nnx.Rngs",
    "conv": ("self.conv{}=", "self.conv{}("),
    "relu": "nnx.relu",
    "pool": "self.pool(",
    "dropout1": ("self.drop1=", "self.drop1("),
    "dropout2": ("self.drop2=", "self.drop2("),
    "dropout3": ("self.drop3=", "self.drop3("),
    "flatten": ("x.transpose", "x.reshape"),
    "dense": ("self.dense{}=", "self.dense{}("),
    "weights-in": ("def put", "put("),
    "loss-function": "def mean_loss",
    "optimiser": ("optax.sgd", "nnx.Optimizer"),
    "train-on": "network.train",
    "forward backward update": "step(",
    "train-off": "network.eval",
    "batches": ("range", "np.concatenate"),
}
UNSAID = "declared input device-network batch reset no-gradient"

PHRASES = {
    "backward": "nnx.value_and_grad",
    "padding": "nnx.Conv(3, 50",
    "pooling": "nnx.max_pool",
    "graph or JIT": "nnx.jit",
    "Adam": "optax.adam",
    "LSTM": "nnx.RNN",
    "gradient truncated": "stop_gradient",
    "free-running": "value[:, -1:]",
    "batch normalisation": "nnx.BatchNorm",
    "weight decay": "optax.add_decayed_weights",
    "sigmoid": "nnx.sigmoid",
}
