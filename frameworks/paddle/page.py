"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": ("gpu =", "paddle.set_device"),
    "threads": '"OMP_NUM_THREADS"',
    "precision": ("get_default_dtype", '"NVIDIA_TF32_OVERRIDE"'),
    "autotune": '"FLAGS_cudnn_exhaustive_search"',
    "switches": ('"to_static"', "trace_run"),
    "conv": "nn.Conv2D",
    "relu": "nn.ReLU",
    "pool": "nn.MaxPool2D",
    "dropout": "nn.Dropout",
    "flatten": "nn.Flatten",
    "dense": "nn.Linear",
    "weights-in": "put(",
    "loss-function": "def cross_entropy",
    "optimiser": "optimizer.Momentum",
    "train-on": "network.train",
    "batch": ("x =", "y ="),
    "reset": "clear_grad",
    "train-off": "network.eval",
    "no-gradient": "no_grad",
    "batches": ("range", "np.concatenate"),
}
UNSAID = "weight-layout device-network drop-seed declared input gradient"

PHRASES = {
    "seed": "paddle.seed",
    "graph or JIT": "paddle.jit.to_static",
    "weights taken out": "state_dict",
    "loss and its reduction": "F.nll_loss",
    "Adam": "optimizer.Adam",
    "LSTM": "nn.LSTM",
    "gradient truncated": "detach",
    "free-running": "value[:, -1:]",
    "batch normalisation": "nn.BatchNorm2D",
    "weight decay": '"weight_decay"',
    "sigmoid": "nn.Sigmoid",
    "save weights": "paddle.save",
    "restore weights": "set_state_dict",
    "ONNX": "paddle.onnx.export",
    "record a pass": "register_forward_post_hook",
    "profile": "profiler.Profiler",
}
