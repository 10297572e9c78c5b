"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": ("list_physical_devices", "set_memory_growth", "for gpu in gpus"),
    "threads": (
        "at_once =",
        "set_intra_op_parallelism_threads",
        "set_inter_op_parallelism_threads",
        '"threads_between_operations"',
    ),
    "precision": "enable_tensor_float_32_execution",
    "autotune": '"TF_CUDNN_USE_AUTOTUNE"',
    "switches": "IsMklEnabled",
    "drop-seed": "Generator.from_seed",
    "conv": ("self.conv{} =", "self.convolution"),
    "relu": "tf.nn.relu",
    "pool": "self.pool",
    "dropout": "self.drop",
    "flatten": ("tf.reshape", "tf.transpose", '== "NHWC"'),
    "dense": ("self.dense{}", "tf.matmul(x, weight) + bias"),
    "loss-function": ("losses =", "step_loss =", "scores ="),
    "optimiser": ("v.assign", "w.assign_sub", "velocities"),
    "gradient": ("tape.gradient", "tape"),
    "compiled": ("graphs", "return step_loss"),
    "train-on forward backward update": "step(x, y)",
    "train-off": "forward(x",
}
UNSAID = "input device-network batch reset no-gradient"

PHRASES = {
    "padding": '"SAME"',
    "graph or JIT": "tf.function",
    "weights taken out": "variable.numpy",
    "Adam": "w.assign_sub",
    "LSTM": '"lstm.input.weight"',
    "gradient truncated": "tf.stop_gradient",
    "free-running": "values[-1][:, -1:]",
    "batch normalisation": "tf.nn.batch_normalization",
    "weight decay": "hp.weight_decay",
    "sigmoid": "tf.sigmoid",
    "save weights": "write",
    "restore weights": "read",
    "record a pass": "probe =",
    "profile": "experimental.Profile",
}
