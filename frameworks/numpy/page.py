"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "switches": ('"ties"', '"chunk_images"'),
    "drop-seed": "RandomState",
    "input": "ToStrip",
    "conv": "ConvolutionReLU",
    "relu": ("ConvolutionReLU", "ReLU"),
    "pool": "pool=True",
    "dropout": "Dropout",
    "flatten": "FromStrip",
    "dense": "Dense",
    "loss-function": "cross_entropy",
    "optimiser": "Momentum",
    "train-on": "training=True",
    "batch": "xp.asarray",
    "forward": ("layer.forward", "for layer in network"),
    "backward": ("layer.backward", "reversed"),
    "train-off": "training=False",
}
UNSAID = "weight-layout autotune declared device-network gradient compiled reset no-gradient"

ADAM = {"optimiser": "Adam"}
NETWORKS = {
    "mlp": {**ADAM, "flatten": "Flatten", "input": ()},
    "lenet5": {
        **ADAM,
        "sigmoid": "Sigmoid",
        "conv": "Convolution",
        "pool": "MaxPool",
        "flatten": "Flatten",
    },
    "mnist_cnn": {
        **ADAM,
        "relu": "ReLU",
        "conv": "Convolution",
        "pool": "MaxPool",
        "flatten": "Flatten",
    },
    "lstm": {
        **ADAM,
        "lstm": "LSTM",
        "loss-function": "squared_error",
        "train-off": "training=False",
        "free-run": ("values", "in range", "np.concatenate"),
    },
    "resnet": {
        "conv": ("Convolution", "convolution("),
        "norm": "BatchNorm",
        "block": ("body", "Residual"),
        "shortcut": ("shortcut", "names ="),
        "stages": ("for stage", "for block", "stride ="),
        "mean": "GlobalMean",
    },
    "pose": {
        "conv": "Convolution",
        "relu": "ReLU",
        "lrn": "LocalResponseNorm",
        "pool": "MaxPool",
        "flatten": "Flatten",
        "loss-function": "joint_error",
    },
}

PHRASES = {
    "weight decay": (),
    "save weights": (),
    "restore weights": (),
    "padding": "ToStrip",
    "weight layout": "layer.canonical",
    "weights taken out": "arrays[",
    "Adam": "Adam",
    "LSTM": "LSTM",
    "gradient truncated": "LSTM",
    "free-running": "advance(values[-1]",
    "batch normalisation": "BatchNorm",
    "local response normalisation": "LocalResponseNorm",
    "hidden joints": "joint_error, optimizer",
    "pool with overlap": "MaxPool",
    "sigmoid": "Sigmoid",
    "record a pass": "layer.forward",
    "profile": "runcall",
}
