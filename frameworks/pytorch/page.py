"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": "is_available",
    "precision": ("fp32_precision", "precisions"),
    "autotune": "benchmark",
    "switches": '"fused_optimizer"',
    "conv": "nn.Conv2d",
    "relu": "nn.ReLU",
    "pool": "nn.MaxPool2d",
    "dropout": "nn.Dropout",
    "flatten": "nn.Flatten",
    "dense": "nn.Linear",
    "device-network": "return place",
    "weights-in": "load_state_dict",
    "optimiser": "optim.SGD",
    "train-on": "network.train",
    "batch": ("x =", "y ="),
    "reset": "zero_grad",
    "train-off": "network.eval",
    "no-gradient": "inference_mode",
    "batches": ("split", "torch.cat"),
}
UNSAID = "weight-layout drop-seed declared input gradient compiled"

ADAM = {"optimiser": "optim.Adam"}
NETWORKS = {
    "mlp mnist_cnn": ADAM,
    "lenet5": {**ADAM, "sigmoid": "nn.Sigmoid"},
    "lstm": {
        **ADAM,
        "dense": ("self.dense{} =", "self.dense{}("),
        "lstm": ("self.lstm =", "self.lstm("),
        "states": "return self.dense2(h), state",
        "weights-in": ("network.load_state_dict", "tensors", "nn.init.zeros_"),
        "chunks": ("chunks =", "in zip(*chunks)"),
        "carried": ("state, step_loss =", "state = ["),
        "free-run": ("value, state =", "values", "in range"),
    },
    "resnet": {
        "conv": ("nn.Conv2d", "convolution("),
        "norm": "nn.BatchNorm2d",
        "block": ("y = torch.relu", "torch.relu(self.norm3"),
        "shortcut": ("self.shortcut", "nn.Sequential(OrderedDict(layers, norm"),
        "stages": ("for stage", "width, layers", "for block", "stride =", "Block(", '"stage%d"'),
        "mean": "nn.AdaptiveAvgPool2d",
        "dense": "nn.Linear",
        "decay": ("weight_decay", "decaying =", "others ="),
        "weights-in": ("load_state_dict", "tensors", "in names"),
    },
    "pose": {"lrn": "nn.LocalResponseNorm", "joints": "nn.Unflatten"},
}

PHRASES = {
    "weights taken out": "state_dict",
    "Adam": "optim.Adam",
    "LSTM": "nn.LSTM",
    "gradient truncated": "detach",
    "free-running": "value[:, -1:]",
    "batch normalisation": "nn.BatchNorm2d",
    "weight decay": '"weight_decay"',
    "local response normalisation": "nn.LocalResponseNorm",
    "hidden joints": "* visible",
    "pool with overlap": "nn.MaxPool2d",
    "sigmoid": "nn.Sigmoid",
    "save weights": "torch.save",
    "restore weights": "load_state_dict",
    "ONNX": "torch.onnx.export",
    "record a pass": "register_forward_hook",
    "profile": "torch.profiler.profile",
}
