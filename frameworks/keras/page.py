"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device threads autotune": "switches = switch",
    "precision": "floatx",
    "switches": ("switches = switch", "image_data_format =", "set_image_data_format", "**switches"),
    "images": ("images =", "stored"),
    "input": "keras.Input",
    "conv": "layers.Conv2D",
    "relu": 'activation="relu"',
    "pool": "MaxPooling2D(2)",
    "pool1": "MaxPooling2D =",
    "dropout": "layers.Dropout",
    "flatten": "layers.Flatten",
    "dense": "layers.Dense",
    "weights-in": "def flatten_order",
    "loss-function": "SparseCategoricalCrossentropy",
    "optimiser": "optimizers.SGD",
    "compiled": ("network.compile", 'settings["jit"]'),
    "train-on forward backward update": "train_on_batch",
    "train-off": "model.predict",
    "batches": "batch_size=256",
}
UNSAID = "not-in-force drop-seed declared device-network gradient batch reset no-gradient"

ADAM = {"optimiser": "optimizers.Adam"}
NETWORKS = {
    "mlp mnist_cnn": ADAM,
    "lenet5": {**ADAM, "sigmoid": ('layers.Activation("sigmoid")', 'activation="sigmoid"')},
    "lstm": {
        **ADAM,
        "dense": ("dense{} = layers.Dense", "dense{}("),
        "lstm": ("lstm = layers.LSTM", "lstm(dense1("),
        "states": ("values, state =", "[keras.Input((5,)), keras.Input((5,))]"),
        "truncation": "state = [ops.stop_gradient",
        "steps": ("for first in range", "values.append", "ops.concatenate", "whole ="),
        "weights-in": ("variable.assign", "variables(network)"),
        "loss-function": "losses.MeanSquaredError",
        "train-off": "predict_on_batch",
        "free-run": ("value, *state", "values", "in range"),
    },
    "resnet": {
        "conv": (
            "layer = layers.Conv2D",
            "filters, size, stride",
            "layers.ZeroPadding2D",
            "if size > 1",
        ),
        "norm": "layers.BatchNormalization",
        "block": ("y = layers.ReLU", "y = convolution", "for block", 'name = "stage%d_block%d_"'),
        "shortcut": ("x = convolution", "names = name", "layers.Add"),
        "stages": ("for stage", "width =", "stride ="),
        "mean": "layers.GlobalAveragePooling2D",
        "dense": "layers.Dense",
        "regulariser": "regularizers.L2",
        "weights-in": ("variable.assign", "variables(network)", "w = weights"),
        "loss-function": ("loss=keras.losses", "metrics="),
        "loss-out": "cross_entropy",
    },
}

PHRASES = {
    "initial weights put in": "layer.set_weights",
    "weights taken out": "get_weights",
    "Adam": "optimizers.Adam",
    "LSTM": "lstm =",
    "gradient truncated": "stop_gradient",
    "free-running": "value[:, -1:]",
    "batch normalisation": "layers.BatchNormalization",
    "weight decay": "hp.weight_decay",
    "sigmoid": '"sigmoid"',
    "save weights": "save",
    "restore weights": "load_weights",
    "ONNX": "model.export",
    "record a pass": "probe =",
}
