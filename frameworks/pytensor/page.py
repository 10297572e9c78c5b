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

ADAM = {"optimiser": ("def adam", "adam(")}
NETWORKS = {
    "mlp": {**ADAM, "flatten": "x.reshape"},
    "lenet5": {
        **ADAM,
        "conv": ("conv{}=", 'valid_conv(h, "conv{}")'),
        "pool": "max_pool",
        "sigmoid": "pt.sigmoid",
        "flatten": "h.transpose(0, 3, 1, 2)",
    },
    "lstm": {
        **ADAM,
        "dense1": "variables(dense1=",
        "dense2": 'dense(h, shared, "dense2")',
        "dense": (),
        "lstm": "def cell",
        "declared": ("shared =", "shared[", "shared.update"),
        "states": "zeros =",
        "truncation": "disconnected_grad",
        "steps": ("pytensor.scan(follow", "sequences ="),
        "free-run": ("def go_on", "pytensor.scan(go_on", "start =", "values ="),
        "loss-function": ("cost =", "y ="),
        "chunks carried batches": (),
        "train-off": "model[1](x)",
    },
}

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
