"""The CNN in Keras as a tutorial writes it: ``Sequential``, ``compile``, ``fit``, no settings.

The bench times it beside the lanes: ``tox run -e bench -- keras:plain keras:best``.
"""

import keras
from keras import layers

CHANNELS_LAST = True


def build(learning_rate=0.01):
    """The compiled model."""
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(50, 3, padding="same", activation="relu"),  # (N, 32, 32, 50)
            layers.Conv2D(50, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),  # (N, 16, 16, 50)
            layers.Dropout(0.25),
            layers.Conv2D(100, 3, padding="same", activation="relu"),  # (N, 16, 16, 100)
            layers.Conv2D(100, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),  # (N, 8, 8, 100)
            layers.Dropout(0.25),
            layers.Flatten(),  # (N, 6400)
            layers.Dense(512, activation="relu"),  # (N, 512)
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),  # (N, 10)
        ]
    )
    optimizer = keras.optimizers.SGD(learning_rate, momentum=0.9)
    model.compile(optimizer, loss="sparse_categorical_crossentropy")
    return model


def train(model, images, labels):
    """One epoch; returns its mean loss. images: (n, 32, 32, 3), labels: (n,)."""
    history = model.fit(images, labels, batch_size=64, epochs=1, verbose=0)
    return history.history["loss"][-1]
