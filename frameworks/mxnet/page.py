"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "not-in-force": '"OMP_NUM_THREADS"',
    "device": "num_gpus",
    "precision": ('"NVIDIA_TF32_OVERRIDE"', '"MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"'),
    "autotune": '"MXNET_CUDNN_AUTOTUNE_DEFAULT"',
    "switches": (
        '"MXNET_OPTIMIZER_AGGREGATION_SIZE"',
        '"optimizer_aggregation"',
        '"hybridize"',
        '"static_alloc"',
        '"static_shape"',
    ),
    "conv": "nn.Conv2D",
    "relu": ('activation="relu"', "nn.Activation"),
    "pool": "nn.MaxPool2D",
    "dropout": "nn.Dropout",
    "flatten": "nn.Flatten",
    "dense": "nn.Dense",
    "device-network": "initialize",
    "weights-in": ("set_data", "collect_params", "parameters.items"),
    "optimiser": ("gluon.Trainer", "momentum = {"),
    "compiled": ("hybridize", "graph = {"),
    "train-on": "autograd.record",
    "batch": ("x =", "y ="),
    "train-off": "network(part).asnumpy",
}
UNSAID = "weight-layout drop-seed declared input gradient reset no-gradient"

ADAM = {"optimiser": ("gluon.Trainer", "adam = {")}
NETWORKS = {
    "mlp": {**ADAM, "flatten": ()},
    "lenet5": {**ADAM, "sigmoid": ('"sigmoid"',)},
    "lstm": {
        **ADAM,
        "dense": ("self.dense{} =", "self.dense{}("),
        "lstm": ("self.lstm =", "self.lstm("),
        "states": "return self.dense2",
        "truncation steps": (),
        "weights-in": (
            "set_data",
            "collect_params",
            "parameters.items",
            "if name",
            "shared",
            "grad_req",
        ),
        "batch chunks": ("chunks =", "for first in chunks", "part ="),
        "carried": ("begin_state", "h, c = h.detach"),
        "train-off": (),
        "free-run": ("value, h, c", "values", "in range"),
    },
    "gru": {
        **ADAM,
        "embedding": "nn.Embedding",
        "gru": "rnn.GRU",
        "last": "F.slice_axis",
        "dense": "nn.Dense",
    },
}

PHRASES = {
    "weights taken out": "asnumpy",
    "Adam": '"adam"',
    "LSTM": "rnn.LSTM",
    "gradient truncated": "detach",
    "free-running": "value[:, -1:]",
    "sigmoid": '"sigmoid"',
    "save weights": "save_parameters",
    "restore weights": "load_parameters",
    "ONNX": "export_model",
    "record a pass": "register_forward_hook",
    "profile": 'set_state("run")',
}
