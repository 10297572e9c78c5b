"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": ("get_device", "device.use", '"chainer_device"', "gpu ="),
    "precision": (
        '"NVIDIA_TF32_OVERRIDE"',
        "dtype",
        "use_cudnn_tensor_core",
        '"tf32_override"',
        '"tensor_core"',
    ),
    "autotune": ("autotune", "workspace =", "set_max_workspace_size", '"cudnn_workspace"'),
    "switches": ("ideep =", "use_ideep", '"ideep"', "type_check", '"type_check"'),
    "conv": "self.conv{}",
    "relu": "F.relu",
    "pool": "F.max_pooling_2d",
    "dropout": "dropout(x",
    "flatten": "self.dense1(x",
    "dense": "self.dense{}",
    "device-network": "to_device",
    "optimiser": ("MomentumSGD", "optimizer.setup"),
    "train-on": "using_config",
    "batch": ("x =", "y ="),
    "reset": "cleargrads",
    "backward": ("backward", "unchain_backward"),
    "train-off": 'using_config("train", False',
    "no-gradient": "no_backprop_mode",
    "batches": "part =",
}
UNSAID = "weight-layout drop-seed declared input gradient compiled"

ADAM = {"optimiser": ("optimizers.Adam", "optimizer.setup")}
NETWORKS = {
    "mlp": ADAM,
    "lenet5": {**ADAM, "sigmoid": "F.sigmoid"},
    "lstm": {
        **ADAM,
        "dense": ("self.dense{} =", "self.dense{}("),
        "lstm": ("self.lstm =", "self.lstm("),
        "steps": ("for t in range", "F.stack"),
        "weights-in": ("parameter.array =", "w = weights", "w = w.reshape", "parameters(network)"),
        "chunks": ("chunks =", "for first in chunks", "part ="),
        "carried": ("reset_state", "unchain_backward"),
        "backward": "part_loss.backward",
        "free-run": ("values", "in range", "F.concat"),
    },
    "resnet": {
        "conv": ("L.Convolution2D", "self.conv("),
        "norm": ("L.BatchNormalization", "self.norm("),
        "block": ("self.part1", "self.part2", "self.part3"),
        "shortcut": ("self.shortcut", "F.relu(y +"),
        "stages": ("for stage", "for block", "stride, width", "self.blocks", "x = block(x)"),
        "mean": "F.mean",
        "dense": ("L.Linear", "self.dense("),
        "decay": ("WeightDecay", "for parameter", "if parameter.ndim", "add_hook"),
        "weights-in": ("setattr", "array =", "getattr", "tensors(network)", "attribute.startswith"),
    },
    "pose": {
        "lrn": "F.local_response_normalization",
        "dropout": "dropout(x",
        "joints": "F.reshape",
    },
}

PHRASES = {
    "padding": "self.conv1 = L.Convolution2D",
    "weights taken out": "cuda.to_cpu",
    "Adam": "optimizers.Adam",
    "LSTM": "L.LSTM",
    "gradient truncated": "unchain_backward",
    "free-running": "values[-1][:, -1:]",
    "batch normalisation": "L.BatchNormalization",
    "weight decay": "WeightDecay",
    "local response normalisation": "F.local_response_normalization",
    "hidden joints": "* visible",
    "pool with overlap": "F.max_pooling_2d",
    "sigmoid": "F.sigmoid",
    "save weights": "save_npz",
    "restore weights": "NpzDeserializer",
    "ONNX": "onnx_chainer.export",
    "record a pass": "with Recorder",
    "profile": "TimerHook",
}
