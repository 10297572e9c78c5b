"""Train the CNN once, plain or with a switch thrown, and measure its accuracy."""

import numpy as np

from common.networks.cnn import CNN
from common.run import clocks, console, measures


def build(training, lane, threads, seed, weights):
    """A model with these weights and fresh random numbers."""
    module, hp = training.module, training.hp
    settings = module.configure(lane, threads, seed)
    return module.loss(module.symbol(settings, hp), settings, hp, weights)


def train(training, model, x, y, seed, epochs, label):
    """Train all epochs, each with a progress bar; the losses. Stop if a loss is not finite."""
    size, losses = training.hp.batch_size, []
    for epoch in range(epochs):
        order = training.order(len(y), size, seed, epoch)
        steps = ((x[indices], y[indices]) for indices in order)
        title = "%s, epoch %d/%d" % (label, epoch + 1, epochs)
        with console.progress(title, len(order), size, "images") as report:
            clocks.timed_pass(training.module, model, steps, len(order), losses, report)
    return losses


def accuracy(training, model, x, labels):
    """The fraction of test images that are classified correctly."""
    outputs = np.asarray(training.module.predict(model, x), np.float32)
    if not np.isfinite(outputs).all():
        raise clocks.NotFinite("a score in prediction")
    return measures.measure(training.module, CNN.task, outputs, labels)["accuracy"]["value"]
