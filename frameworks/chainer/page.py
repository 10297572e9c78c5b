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

PHRASES = {
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
