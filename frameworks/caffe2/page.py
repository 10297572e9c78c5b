"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": "has_cuda_support",
    "threads": ("flags =", '"omp_num_threads"'),
    "autotune": '"cudnn_exhaustive_search"',
    "switches": ("core.GlobalInit", '"engine"', '"ideep"', '"net_type"'),
    "rates": "hp.dropout[",
    "conv": "brew.conv",
    "relu": "brew.relu",
    "pool": "brew.max_pool",
    "dropout": "dropout(model, ",
    "flatten": 'brew.fc(model, "drop2"',
    "dense": "brew.fc",
    "device-network": ("on_ideep", "kind =", "with core.DeviceScope"),
    "weights-in": ("FeedBlob(layer", "in LAYERS"),
    "loss-function": "SoftmaxWithLoss",
    "optimiser": "build_sgd",
    "gradient": "AddGradientOperators",
    "compiled": (
        "def reset",
        "SwitchWorkspace",
        "finalize",
        "RunNetOnce",
        'FeedBlob("x"',
        'FeedBlob("y"',
        "for model in network",
        "Proto().type",
        "CreateNet",
    ),
    "train-on": ("RunNet", "train_net, _"),
    "batch": ("FeedBlob", "SwitchWorkspace"),
    "forward backward update": "RunNet",
    "train-off": "RunNet",
}
UNSAID = "drop-seed declared input reset no-gradient"

PHRASES = {
    "seed": "core.DeviceScope(core.DeviceOption(kind, random_seed",
    "device": "core.DeviceScope",
    "graph or JIT": "CreateNet",
    "weights taken out": "FetchBlob(layer",
    "save weights": "mobile_exporter.Export",
    "restore weights": "FeedBlob",
    "ONNX": "caffe2_net_to_onnx_model",
    "record a pass": "RunOperatorOnce",
    "profile": "BenchmarkNet",
}
