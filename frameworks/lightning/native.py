"""Lightning's own file of weights: a checkpoint, ``.ckpt``.

Idiom: the trainer writes it, with the weights of the module that it last trained.
Surprise: unless asked for the weights alone, the file also has the optimiser's state, the loops'
    and the callbacks'. The names of the weights begin with the module's name for its network.
"""

import torch


def save(model, path):
    """Write the model's weights."""
    classifier, trainer = model
    trainer.strategy.connect(classifier)  # as fit does; a model need not be trained to be saved
    trainer.save_checkpoint(path, weights_only=True)


def restore(model, path):
    """Read weights into the model."""
    classifier, _ = model
    # load_from_checkpoint would make a new module.
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    classifier.load_state_dict(checkpoint["state_dict"])
