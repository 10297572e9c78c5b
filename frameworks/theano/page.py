"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "not-in-force": "gpu_only",
    "device": ("pygpu =", "if pygpu", "gpuarray.use"),
    "threads": '"OMP_NUM_THREADS"',
    "precision": "floatX",
    "autotune": (
        "config.dnn",
        '"dnn.conv.algo_fwd"',
        '"dnn.conv.algo_bwd_data"',
        '"dnn.conv.algo_bwd_filter"',
    ),
    "switches": ('"optimizer"', '"linker"', '"blas.ldflags"'),
    "drop-seed": ("RandomState", "MRG_RandomStreams"),
    "declared": "shared = variables",
    "input": "tensor4",
    "conv": ("conv{}=", "conv"),
    "relu": "relu",
    "pool": "max_pool",
    "dropout": "dropout(",
    "flatten": "h.flatten",
    "dense": ("dense{}=", "dense"),
    "weights-in": "set_value",
    "loss-function": ("categorical_crossentropy", "y ="),
    "optimiser": ("for (name, w), g", "v =", "new_v", "updates =", "updates +="),
    "gradient": "T.grad",
    "compiled": "return compiled",
    "train-on": "train_step =",
    "forward backward update": "train_step(",
    "train-off": "predict_step(",
}
UNSAID = "weight-layout device-network batch reset no-gradient"

ADAM = {"optimiser": "adam(shared", "update-rule": "def adam"}
NETWORKS = {
    "mlp": {**ADAM, "flatten": "x.flatten"},
    "lenet5": {**ADAM, "sigmoid": "sigmoid", "conv": "conv(", "pool": "max_pool"},
    "lstm": {
        "optimiser": "adam(shared",
        "input": "tensor3",
        "dense1": "variables(dense1=",
        "dense2": 'dense(h, shared, "dense2")',
        "dense": (),
        "lstm": "def cell",
        "declared": ("shared =", "shared[", "shared.update"),
        "states": "zeros =",
        "truncation": "disconnected_grad",
        "steps": ("theano.scan", "sequences ="),
        "loss-function": ("cost =", "y ="),
        "free-run": ("def go_on", "theano.scan(go_on", "values ="),
        "chunks carried batches": (),
        "train-off": "model[1](x)",
    },
}

PHRASES = {
    "seed": "MRG_RandomStreams(int",
    "training, not prediction": (),
    "prediction": (),
    "padding": "border_mode",
    "device": "gpuarray.use",
    "graph or JIT": "train_step = theano.function",
    "optimiser": "new_v =",
    "Adam": "change =",
    "LSTM": '"lstm.input.weight"',
    "gradient truncated": "disconnected_grad",
    "free-running": "ahead[-1]",
    "sigmoid": "sigmoid",
    "save weights": "pickle.dump",
    "restore weights": "Arrays(file",
    "record a pass": "theano.function",
    "profile": "config.profile = True",
}
