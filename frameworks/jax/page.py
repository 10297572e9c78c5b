"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": "gpu =",
    "threads": '"NPROC"',
    "precision": "jax_default_matmul_precision",
    "autotune": ("flags =", '"XLA_FLAGS"'),
    "switches": ('"ynn_convolution"', '"pool"'),
    "drop-seed": "jax.random.split",
    "conv": "conv(x,",
    "relu": "jax.nn.relu",
    "pool": "max_pool(",
    "dropout": "dropout(x,",
    "flatten": ("x.transpose", "x.reshape"),
    "dense": "dense(x,",
    "weights-in": ("def tree", "tree("),
    "loss-function": ("def cross_entropy", "def mean_loss"),
    "optimiser": ("velocity =", "params = jax.tree.map"),
    "gradient": "jax.value_and_grad",
    "compiled": "jax.jit",
    "train-on forward backward update": 'model["step"](',
    "train-off": 'model["forward"](',
    "batches": ("range", "np.concatenate"),
}
UNSAID = "declared input device-network batch reset no-gradient"

NETWORKS = {
    "gru": {
        "embedding": 'params["words"]["weight"][words]',
        "gru": ("def cell", 'params["gru.input"]', "start =", "lax.scan"),
        "last": "h, _ =",
        "dense": 'params["dense"]',
        "optimiser": "def adam",
    },
}

PHRASES = {
    "padding": "lax.conv_general_dilated",
    "pooling": "lax.reduce_window",
    "flatten order": "x.reshape",
    "initial weights put in": "params.setdefault",
    "optimiser": "w - hp.learning_rate * v",
    "backward": "jax.value_and_grad",
    "graph or JIT": "donate_argnums",
    "weights taken out": "np.array(w)",
    "Adam": "w - hp.learning_rate",
    "LSTM": "partial(cell",
    "gradient truncated": "stop_gradient",
    "free-running": "value[:, -1:]",
    "batch normalisation": "lax.rsqrt",
    "weight decay": "hp.weight_decay",
    "sigmoid": "jax.nn.sigmoid",
}
