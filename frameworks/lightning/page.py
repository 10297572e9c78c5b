"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": "is_available",
    "precision": ("fp32_precision", "precisions"),
    "switches": ('"fused_optimizer"', '"flush_denormal"', "flushed", "logging", "warnings"),
    "conv": "nn.Conv2d",
    "relu": "nn.ReLU",
    "pool": "nn.MaxPool2d",
    "dropout": "nn.Dropout",
    "flatten": "nn.Flatten",
    "dense": "nn.Linear",
    "device-network": "return place",
    "weights-in": "load_state_dict",
    "loss-function": ("criterion =", "def training_step"),
    "optimiser": ("optim.SGD", "def configure_optimizers", "def trainer_of", "trainer_of"),
    "loop": ("loader =", "epoch_progress", "def __init__", "def __iter__", "while"),
    "train-on": "classifier.train",
    "batch reset forward backward update": "trainer.fit",
    "loss-out": ("yield", "step_loss =", "def on_train_batch_end"),
    "train-off no-gradient": "trainer.predict",
    "batches": ("loader =", "torch.cat"),
}
UNSAID = "weight-layout drop-seed declared input gradient compiled"

PHRASES = {
    "loss and its reduction": "nn.CrossEntropyLoss",
    "optimiser": "torch.optim.SGD",
    "gradients reset": "step_loss = fit.switch(classifier",
    "backward": "step_loss = fit.switch(classifier",
    "autotune": "benchmark=",
    "weights taken out": "state_dict",
    "save weights": "save_checkpoint",
    "restore weights": "load_state_dict",
    "record a pass": "hooks.record",
}
