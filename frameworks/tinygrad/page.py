"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": ("cpu =", '"device"'),
    "threads": "NUM_CPU_THREADS",
    "precision": "ALLOW_TF32",
    "autotune": "BEAM",
    "switches": '"jit"',
    "conv": ("self.conv{} =", "self.conv{}("),
    "relu": "relu()",
    "pool": "max_pool2d",
    "dropout": "x.dropout",
    "flatten": "x.flatten",
    "dense": ("self.dense{} =", "self.dense{}("),
    "weights-in": "put(",
    "loss-function": "sparse_categorical_crossentropy",
    "optimiser": ("nn.optim.SGD", "parameters =", "schedule_step"),
    "gradient": ("step_loss.backward", "optimizer.zero_grad"),
    "compiled": "return recorded",
    "train-on": "Context(TRAINING=1)",
    "batch": ("x =", "y ="),
    "forward backward update": "step(x, y)",
    "train-off": "forward(",
    "batches": ("part =", "part[", "np.concatenate"),
}
UNSAID = "drop-seed declared input device-network reset no-gradient"

ADAM = {"optimiser": ("nn.optim.Adam", "parameters =", "schedule_step")}
NETWORKS = {"mlp": ADAM, "lenet5": {**ADAM, "sigmoid": "sigmoid()"}}

PHRASES = {
    "padding": "padding=1",
    "gradients reset": "zero_grad",
    "weights taken out": "get_state_dict",
    "training, not prediction": "Context(TRAINING=1)",
    "backward": "step_loss.backward",
    "graph or JIT": "TinyJit(step)",
    "sigmoid": "sigmoid()",
    "save weights": "safe_save(",
    "restore weights": "load_state_dict(",
    "record a pass": "setattr(Tensor, name, call)",
    "profile": "Context(DEBUG=2)",
}
