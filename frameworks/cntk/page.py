"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": "use_default_device",
    "threads": "set_max_num_cputhreads",
    "autotune": "force_deterministic_algorithms",
    "drop-seed": ("seed = 3", "seed=seed + 1", "seed=seed + 2", "seed=seed"),
    "input": "C.input_variable",
    "conv": "Convolution2D",
    "relu": "C.relu",
    "pool": "MaxPooling",
    "dropout": "Dropout",
    "flatten": "Dense(512",
    "dense": "Dense",
    "weights-in": "blocks = put",
    "loss-function": ("criterion =", "y ="),
    "optimiser": ("momentum_sgd", "C.Trainer"),
    "batch": ("x_variable =", "{x_variable: x, y_variable: y}"),
    "train-on forward backward update": "train_minibatch",
    "train-off": "network.eval",
}
UNSAID = "weight-layout declared device-network gradient compiled reset no-gradient"

ADAM = {"optimiser": ("C.adam", "C.Trainer")}
NETWORKS = {
    "mlp": {**ADAM, "flatten": "Dense(1000, activation=C.relu, name='dense1'"},
    "lenet5": {**ADAM, "sigmoid": "C.sigmoid", "flatten": "Dense(84"},
    "lstm": {
        **ADAM,
        "dense": ('"dense{}": Dense', '"dense{}"]('),
        "lstm": ('"lstm": LSTM', 'blocks["lstm"]('),
        "states": ("h = c =",),
        "truncation": ("C.stop_gradient", "if (t + 1)"),
        "steps": ("for t in range", "step =", "values", "C.splice"),
        "free-run": ("for _ in range(STEPS)", 'blocks["dense1"](values[-1])', "return ahead"),
        "chunks carried batches": (),
        "loss-function": ("criterion =", "y ="),
        "weights-in": ("parameter.value =", "parameters(blocks)"),
        "batch": ("x_variable,", "{x_variable: x, y_variable: y}"),
        "train-off": "values.eval",
    },
}

PHRASES = {
    "seed": "Dropout(drop1",
    "initial weights put in": "block.b.value =",
    "weights taken out": "block.W.value",
    "Adam": "C.adam",
    "LSTM": "LSTM(5)",
    "gradient truncated": "stop_gradient",
    "free-running": 'blocks["dense1"](values[-1])',
    "sigmoid": "C.sigmoid",
    "save weights": "save",
    "restore weights": "restore(path)",
    "ONNX": "ModelFormat",
    "record a pass": "C.combine",
    "profile": "start_profiler",
}
