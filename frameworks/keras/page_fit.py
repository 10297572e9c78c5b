"""The code that shows each row and phrase of the page: see reports/reading.py."""

from frameworks.keras.page import NETWORKS, PHRASES, ROWS, UNSAID

ROWS = {
    **ROWS,
    "loop": ("dataset =", "x, y =", "while"),
    "train-on forward backward update": "model.fit",
    "loss-out": ("yield", "fit.switch", "def on_train_batch_begin", "def on_train_batch_end"),
}

PHRASES = {
    **{name: PHRASES[name] for name in ("pooling", "device", "autotune", "weight layout")},
    "initial weights put in": "layer.set_weights",
    "training, not prediction": "step_loss = fit.switch(dataset",
    "gradients reset": "step_loss = fit.switch(dataset",
    "backward": "step_loss = fit.switch(dataset",
    "weights taken out": "get_weights",
}

__all__ = ["NETWORKS", "PHRASES", "ROWS", "UNSAID"]
