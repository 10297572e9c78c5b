"""The CNN in PyTorch.

Idiom: ``nn.Sequential``, an optimiser that owns the momentum, eager execution.
Layout: NCHW; the best lane keeps that shape and stores it channels-last in memory.
Momentum: ``v = momentum * v + g; w = w - lr * v``, the learning rate outside the velocity.
Surprise: ``nn.CrossEntropyLoss`` takes scores, not probabilities; with a ``Softmax`` at its end the
    network still trains, but worse.
"""

from collections import OrderedDict

import torch
from torch import nn


def configure(lane, threads, seed):
    """Set threads, seed, precision and autotune; return the settings in force."""
    best = lane == "best"
    cuda = torch.cuda.is_available()
    # Without gradients, a velocity or moment decays to denormal numbers, which make CPUs slow.
    # Threads inherit this from the thread that starts them.
    flushed = torch.set_flush_denormal(best) and best
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    # cuDNN takes TF32 by default, and PyTorch 2.11 does so even if torch.backends says "ieee".
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    torch.backends.cudnn.rnn.fp32_precision = "ieee"
    torch.backends.cudnn.benchmark = best  # autotune
    precisions = (
        torch.backends.cuda.matmul.fp32_precision,
        torch.backends.cudnn.conv.fp32_precision,
    )
    return {
        "device": "cuda" if cuda else "cpu",
        "layout": "NCHW",
        "memory_format": "channels_last" if best else "contiguous",
        "precision": "float32",
        "threads": torch.get_num_threads(),
        "seed": seed,
        "flush_denormal": flushed,
        "tf32": "tf32" in precisions,
        "autotune": torch.backends.cudnn.benchmark,
        "fused_optimizer": best,
        "jit": False,
        "not_in_force": [] if cuda else ["tf32", "autotune"],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int64 class numbers (n,), as they are."""
    return images, labels


def place(network, settings):
    """Move the network to its device, in the memory format of the lane."""
    formats = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
    return network.to(settings["device"], memory_format=formats[settings["memory_format"]])


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


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    # PyTorch itself would draw Kaiming uniform weights, and biases that are not zero.
    network.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    criterion = nn.CrossEntropyLoss()  # log-softmax, then the mean over the batch
    optimizer = torch.optim.SGD(
        network.parameters(),
        lr=hp.learning_rate,
        momentum=hp.momentum,
        fused=settings["fused_optimizer"] or None,  # False would forbid ``foreach``, too
    )
    return network, criterion, optimizer


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer = model
    device = next(network.parameters()).device
    network.train()  # dropout on
    for x, y in batches:
        x = torch.from_numpy(x).to(device, non_blocking=True)  # (N, 3, 32, 32)
        y = torch.from_numpy(y).to(device, non_blocking=True)  # (N,)
        optimizer.zero_grad()
        step_loss = criterion(network(x), y)
        step_loss.backward()  # not for x, which does not require a gradient
        optimizer.step()
        yield step_loss.detach()


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    network = model[0]
    device = next(network.parameters()).device
    network.eval()  # dropout off
    with torch.inference_mode():
        scores = [network(part.to(device)).cpu() for part in torch.from_numpy(x).split(256)]
    return torch.cat(scores).numpy()


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return (torch.from_numpy(scores).argmax(1) == torch.from_numpy(labels)).float().mean().item()


def weights(model):
    """Every weight under its canonical name; PyTorch's layouts are the canonical ones."""
    tensors = model[0].state_dict()  # {"conv1.weight": ...}
    return {name: tensor.numpy(force=True).copy() for name, tensor in tensors.items()}


def wait(model):
    """Return when the GPU has finished; the CPU runs each step before it returns."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
