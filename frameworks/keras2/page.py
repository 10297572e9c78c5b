"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "imports": "if K.backend",
    "threads": ('"OMP_NUM_THREADS"', "set_max_num_cputhreads"),
    "precision": "set_floatx",
    "switches": (
        "set_image_data_format",
        '"backend"',
        '"backend_version"',
        '"optimizer"',
        '"linker"',
        '"blas.ldflags"',
    ),
    "drop-seed": ("RandomState", "if K.backend", "reset_random_seed", "seed=seeds"),
    "input": "input_shape=",
    "conv": "Conv2D",
    "relu": ("activation=relu", "Activation"),
    "pool": "Lambda",
    "dropout": "Dropout",
    "flatten": "Flatten",
    "dense": "Dense",
    "weights-in": ("def to_keras", "set_weights"),
    "loss-function": ("def crossentropy", "loss=crossentropy"),
    "optimiser": ("SGD", "optimizer=optimizer"),
    "compiled": ("if K.backend", "network.compile", "options"),
    "train-on forward backward update": "train_on_batch",
    "train-off": "model.predict",
    "batches": "batch_size=64",
}
UNSAID = "autotune declared device-network gradient batch reset no-gradient"

PHRASES = {
    "padding": 'padding="same"',
    "initial weights put in": "set_weights",
    "graph or JIT": "network.compile",
    "weights taken out": "get_weights",
    "save weights": "save_weights",
    "restore weights": "load_weights",
    "record a pass": "probe =",
}
