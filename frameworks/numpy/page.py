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
