"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": "gpu =",
    "threads": '"NPROC"',
    "precision": "jax_default_matmul_precision",
    "autotune": ("flags =", '"XLA_FLAGS"'),
    "switches": ('"ynn_convolution"', '"pool"'),
    "drop-seed": "jax.random.key",
    "declared": ("eqx.nn.MaxPool2d", "eqx.nn.Dropout"),
    "rates": "in dropout",
    "conv": ("self.conv{}=", "self.conv{}("),
    "relu": "jax.nn.relu",
    "pool": "self.pool(",
    "dropout1": "self.drop1(",
    "dropout2": "self.drop2(",
    "dropout3": "self.drop3(",
    "flatten": "x.ravel",
    "dense": ("self.dense{}=", "self.dense{}("),
    "weights-in": ("def put", "put("),
    "loss-function": "def mean_loss",
    "optimiser": ("optax.sgd", "optimizer.init"),
    "gradient": ("eqx.filter_value_and_grad", "optimizer.update", "eqx.apply_updates"),
    "compiled": '"step": step',
    "train-on forward backward update": 'model["step"](',
    "train-off": "eqx.nn.inference_mode",
    "batches": ("range", "np.concatenate"),
}
UNSAID = "input device-network batch reset no-gradient"

PHRASES = {
    "padding": "padding",
    "pooling": "windows = eqx.nn.MaxPool2d",
    "dropout": "self.drop1, self.drop2",
    "training, not prediction": (),
    "graph or JIT": "eqx.filter_jit",
    "backward": "eqx.filter_value_and_grad",
}
