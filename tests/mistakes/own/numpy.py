"""The NumPy module's own traps, written as changes to its source."""

from tests.mistakes.mistake import changed

MISTAKES = [
    changed("relu_forgotten", "forward", ("        ReLU(settings),\n", "")),
    changed("dropout_in_prediction", "dropout", ("training=False", "training=True")),
    changed(
        "ties_shared_unsaid",
        "gradient",
        (
            "layer.put(weights",
            'layer.settings = dict(settings, ties="all")\n            layer.put(weights',
        ),
    ),
    changed("float64_in_disguise", "trajectory", ('"float32",', '"float64",')),
]
