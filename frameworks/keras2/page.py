"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "threads": "**switch",
    "precision": "set_floatx",
    "switches": ("set_image_data_format", "**switch"),
    "drop-seed": ("RandomState", "set_dropout_seed", "seed=seeds"),
    "input": "input_shape=",
    "conv": "Conv2D",
    "relu": "activation=relu",
    "pool": "Lambda",
    "dropout": "Dropout",
    "flatten": "Flatten",
    "dense": "Dense",
    "weights-in": ("def to_keras", "set_weights"),
    "loss-function": "loss=crossentropy",
    "optimiser": ("SGD", "optimizer=optimizer"),
    "compiled": ("network.compile", "compile_options"),
    "train-on forward backward update": "train_on_batch",
    "train-off": "model.predict",
    "batches": "batch_size=64",
}
UNSAID = "autotune declared device-network gradient batch reset no-gradient"

PHRASES = {
    "seed": "Dropout(drop1",
    "padding": 'padding="same"',
    "initial weights put in": "set_weights",
    "weights taken out": "get_weights",
    "save weights": "save_weights",
    "restore weights": "load_weights",
    "record a pass": "probe =",
}
