"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "threads": '"OMP_NUM_THREADS"',
    "precision": "floatX",
    "switches": ('"optimizer"', '"linker"', '"blas__ldflags"'),
    "drop-seed": "shared_rng",
    "declared": "shared = variables",
    "input": "pt.tensor",
    "conv": ("conv{}=", "same_conv"),
    "conv1": ("def framed", "def shifts", "def correlate", "def correlation", "def same_conv"),
    "relu": "relu",
    "pool": "max_pool",
    "dropout": "dropout(",
    "flatten": "h.transpose(0, 3, 1, 2)",
    "dense": ("dense{}=", "dense"),
    "weights-in": "set_value",
    "loss-function": ("def cross_entropy", "cost =", "y ="),
    "optimiser": ("for (name, w), g", "v =", "updates[v]", "updates[w]", "updates ="),
    "gradient": "pt.grad",
    "compiled": "return compiled",
    "train-on": "train_step =",
    "forward backward update": "train_step(",
    "train-off": "predict_step(",
}
UNSAID = "autotune weight-layout device-network batch reset no-gradient"

PHRASES = {
    "seed": "shared_rng",
    "padding": ".set(h)",
    "graph or JIT": "train_step = pytensor.function",
    "loss and its reduction": "logarithms[",
    "optimiser": "updates[v] =",
    "Adam": "updates[w] =",
    "LSTM": 'shared["lstm."',
    "gradient truncated": "disconnected_grad",
    "free-running": "ahead[-1]",
    "sigmoid": "pt.sigmoid",
    "save weights": "np.savez",
    "restore weights": "np.load",
    "profile": "config.profile = True",
}
