"""The CNN in Lightning, on PyTorch.

Idiom: a ``LightningModule`` says what a step computes and what the optimiser is; the loop is the
    ``Trainer``'s. It moves batches to the device, zeroes gradients, goes backward and updates.
Layout: NCHW; the best lane keeps that shape and stores it channels-last in memory.
Momentum: ``v = momentum * v + g; w = w - lr * v``, the learning rate outside the velocity.
Surprise: unasked, a trainer writes logs and checkpoints into the working directory, and takes the
    processes, rank and world size from environment variables. It neither shuffles, clips,
    accumulates nor drops the last batch. Each ``fit`` asks for the optimiser again: a new one has
    no velocity.
"""

import logging
import warnings
from collections import OrderedDict

import lightning
import torch
from greenlet import getcurrent, greenlet
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


def configure(lane, threads, seed):
    """Set threads, seed, precision and autotune; return the settings in force."""
    best = lane == "best"
    cuda = torch.cuda.is_available()
    # Without gradients, a velocity decays to denormal numbers, which make CPUs slow.
    flushed = torch.set_flush_denormal(best) and best
    torch.set_num_threads(threads)
    lightning.seed_everything(seed, verbose=False)
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    # cuDNN takes TF32 by default, and PyTorch 2.11 does so even if torch.backends says "ieee".
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    torch.backends.cudnn.rnn.fp32_precision = "ieee"
    precisions = (
        torch.backends.cuda.matmul.fp32_precision,
        torch.backends.cudnn.conv.fp32_precision,
    )
    # A trainer reports the devices that it does not use, that batches come without workers, and
    # what this PyTorch will change.
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", ".* does not have many workers|.*LeafSpec")
    return {
        "device": "cuda" if cuda else "cpu",
        "layout": "NCHW",
        "memory_format": "channels_last" if best else "contiguous",
        "precision": "float32",
        "threads": torch.get_num_threads(),
        "seed": seed,
        "flush_denormal": flushed,
        "tf32": "tf32" in precisions,
        "autotune": best,
        "fused_optimizer": best,
        "jit": False,
        "not_in_force": [] if cuda else ["tf32", "autotune"],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int64 class numbers (n,), as they are."""
    return images, labels


def place(network, settings):
    """Put the network into the lane's memory format; the trainer moves it to the device."""
    formats = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
    return network.to(memory_format=formats[settings["memory_format"]])


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    layers = OrderedDict(
        conv1=nn.Conv2d(3, 50, 3, padding="same"),  # (N, 50, 32, 32)
        relu1=nn.ReLU(),
        conv2=nn.Conv2d(50, 50, 3, padding="same"),
        relu2=nn.ReLU(),
        pool1=nn.MaxPool2d(2),  # (N, 50, 16, 16)
        drop1=nn.Dropout(drop1),
        conv3=nn.Conv2d(50, 100, 3, padding="same"),  # (N, 100, 16, 16)
        relu3=nn.ReLU(),
        conv4=nn.Conv2d(100, 100, 3, padding="same"),
        relu4=nn.ReLU(),
        pool2=nn.MaxPool2d(2),  # (N, 100, 8, 8)
        drop2=nn.Dropout(drop2),
        flatten=nn.Flatten(),  # (N, 6400), in the order C, H, W in both memory formats
        dense1=nn.Linear(6400, 512),  # (N, 512)
        relu5=nn.ReLU(),
        drop3=nn.Dropout(drop3),
        dense2=nn.Linear(512, 10),  # (N, 10), no softmax: the loss applies it
    )
    return place(nn.Sequential(layers), settings)


class Classifier(lightning.LightningModule):
    """What the trainer asks for: a step of training, one of prediction, and the optimiser."""

    def __init__(self, network, optimizer):
        super().__init__()
        self.network, self.optimizer = network, optimizer
        self.criterion = nn.CrossEntropyLoss()  # log-softmax, then the mean over the batch

    def training_step(self, batch, number):
        """The loss of a batch; the trainer goes backward from it and updates."""
        x, y = batch  # (N, 3, 32, 32), (N,)
        return self.criterion(self.network(x), y)

    def predict_step(self, x, number):
        """The scores of some images."""
        return self.network(x)

    def configure_optimizers(self):
        """The same optimiser in each ``fit``, because it has the velocity."""
        return self.optimizer


def trainer_of(settings):
    """A trainer that does what is asked for and no more."""
    return lightning.Trainer(
        accelerator=settings["device"],
        devices=1,
        precision="32-true",
        benchmark=settings["autotune"],
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[HandOver()],
    )


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights, and the trainer."""
    # PyTorch itself would draw Kaiming uniform weights, and biases that are not zero.
    network.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    optimizer = torch.optim.SGD(
        network.parameters(),
        lr=hp.learning_rate,
        momentum=hp.momentum,
        fused=settings["fused_optimizer"] or None,  # False would also forbid the loop over lists
    )
    return Classifier(network, optimizer), trainer_of(settings)


class HandOver(lightning.Callback):
    """Pause the trainer's loop after each step, and give the loss to whoever started it."""

    def on_train_batch_end(self, trainer, classifier, outputs, batch, number):
        """The step's loss is in ``outputs``, its update made."""
        getcurrent().parent.switch(outputs["loss"])


class Batches(IterableDataset):
    """The shared batches, in their order."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    classifier, trainer = model
    classifier.train()  # dropout on: ``fit`` leaves that as it is
    trainer.fit_loop.epoch_progress.reset()  # a later epoch would begin to read the batches twice
    loader = DataLoader(Batches(batches), batch_size=None)  # they are batches already
    fit = greenlet(trainer.fit)
    step_loss = fit.switch(classifier, loader)  # until the first step is done
    while not fit.dead:
        yield step_loss
        step_loss = fit.switch()


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    classifier, trainer = model
    # The trainer would drop no batch in prediction even if the loader did.
    loader = DataLoader(torch.from_numpy(x), batch_size=256)
    return torch.cat(trainer.predict(classifier, loader)).numpy(force=True)  # dropout off


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return (torch.from_numpy(scores).argmax(1) == torch.from_numpy(labels)).float().mean().item()


def weights(model):
    """Every weight under its canonical name; PyTorch's layouts are the canonical ones."""
    tensors = model[0].network.state_dict()  # {"conv1.weight": ...}
    return {name: tensor.numpy(force=True).copy() for name, tensor in tensors.items()}


def wait(model):
    """Return when the GPU has finished; the CPU runs each step before it returns."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
