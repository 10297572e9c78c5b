"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": "list_physical_devices",
    "threads": (
        '"TF_NUM_INTRAOP_THREADS"',
        '"TF_NUM_INTEROP_THREADS"',
        '"threads_between_operations"',
    ),
    "autotune": '"TF_CUDNN_USE_AUTOTUNE"',
    "switches": ("mkl_dnn", '"mkl_dnn"'),
    "conv": "self.convolution",
    "relu": "tf.nn.relu",
    "pool": "self.pool",
    "dropout": "tf.nn.dropout",
    "flatten": ("tf.reshape", "tf.transpose", '== "NHWC"'),
    "dense": ('"dense{}"', "tf.matmul(x, weight) + bias"),
    "weights-in": ("variable.load", "for variable, w", "global_variables_initializer"),
    "loss-function": ("losses =", "step_loss =", "scores =", "y ="),
    "optimiser": "MomentumOptimizer",
    "gradient": "minimize",
    "compiled": (
        "tf.Session",
        "image = {",
        "tf.ConfigProto",
        "config.",
        'settings["jit"]',
        "tf.Graph",
        "set_random_seed",
        "x = tf.placeholder",
        "rows = tf.placeholder",
        "forward = network",
        "finalize",
    ),
    "batch": "{x: images, y: labels}",
    "train-on forward backward update": "session.run",
    "train-off": "session.run",
}
UNSAID = "drop-seed input device-network reset no-gradient"

PHRASES = {
    "weight layout": "AXES =",
    "seed": "tf.set_random_seed",
    "padding": '"SAME"',
    "weights taken out": "arrays =",
    "save weights": "tf.train.Saver",
    "restore weights": "load_checkpoint",
    "record a pass": "session.run",
    "profile": "FULL_TRACE",
}
