"""Traps of Keras 2, on CNTK and on Theano, as patches of its module."""

from frameworks.variants import trap

CNTK, THEANO = ("keras-cntk",), ("keras-theano",)

TRAPS = [
    trap("nesterov_asked_for", "momentum", ("nesterov=False)", "nesterov=True)")),
    trap("decay_of_the_learning_rate", "gradient", ("nesterov=False)", "decay=1e-4)")),
    trap("slow_decay_of_the_learning_rate", "momentum", ("nesterov=False)", "decay=1e-5)")),
    trap("clipnorm", "gradient", ("nesterov=False)", "clipnorm=5)")),
    trap("clipvalue", "gradient", ("nesterov=False)", "clipvalue=0.5)")),
    trap(
        "kernel_regularizer",
        "gradient",
        (
            "from keras.optimizers import SGD",
            "from keras import regularizers\nfrom keras.optimizers import SGD",
        ),
        (
            "Dense(512, activation=relu)",
            "Dense(512, activation=relu, kernel_regularizer=regularizers.l2(1e-6))",
        ),
    ),
    trap(
        "kernel_constraint",
        "gradient",
        (
            "from keras.optimizers import SGD",
            "from keras import constraints\nfrom keras.optimizers import SGD",
        ),
        (
            "Dense(512, activation=relu)",
            "Dense(512, activation=relu, kernel_constraint=constraints.max_norm(4))",
        ),
    ),
    trap(
        "flatten_moves_channels_last",
        "forward",
        ('Flatten(data_format="channels_last")', "Flatten()"),
    ),
    trap("softmax_in_the_network", "forward", ("Dense(10),", 'Dense(10, activation="softmax"),')),
    trap(
        "relu_with_a_ceiling",
        "forward",
        (
            "Dense(512, activation=relu)",
            "Dense(512, activation=lambda h: K.relu(h, max_value=6.0))",
        ),
    ),
    trap(
        "kernels_not_turned",
        "forward",
        ('w[:, :, ::-1, ::-1] if w.ndim == 4 and K.backend() == "theano" else w', "w", "backends"),
        only=THEANO,
    ),
    trap(
        "relu_with_half_a_gradient_at_0",
        "gradient",
        ('K.maximum(0, h) if K.backend() == "theano" else K.relu(h)', "K.relu(h)", "backends"),
        only=THEANO,
    ),
    trap(
        "ties_shared_unsaid",
        "gradient",
        ('if K.backend() != "theano":', "if True:", "backends"),
        only=THEANO,
    ),
    trap(
        "keras_own_loss_clips",
        "gradient",
        (
            "K.logsumexp(scores, axis=-1) - K.sum(y * scores, axis=-1)",
            "K.categorical_crossentropy(y, scores, from_logits=True)",
            "backends",
        ),
        only=THEANO,
    ),
    trap(
        "from_probabilities",
        "gradient",
        ("y, scores, from_logits=True", "y, K.softmax(scores)", "backends"),
        only=CNTK,
    ),
    trap("from_logits_forgotten", "gradient", (", from_logits=True", "", "backends"), only=CNTK),
    trap(
        "one_seed_for_all_layers",
        "dropout",
        ("randint(1, 2**30, 3).tolist()", "randint(1, 2**30, 1).tolist() * 3"),
        only=THEANO,
    ),
    trap(
        "seeds_unsaid", "dropout", ("Dropout(drop3, seed=seeds[2])", "Dropout(drop3)"), only=THEANO
    ),
    trap(
        "layers_seeds_relied_upon",
        "dropout",
        ("set_dropout_seed(seeds[0])", "pass"),
        only=CNTK,
    ),
    trap(
        "learning_phase_in_prediction",
        "dropout",
        (
            "return model.predict(x, batch_size=64)",
            "return K.function([model.input, K.learning_phase()], [model.output])([x, 1])[0]",
        ),
        only=THEANO,
    ),
    trap(
        "initial_weights_left_in_place",
        "weights",
        ("network.set_weights([to_keras(weights[name]) for name in NAMES])", "pass"),
    ),
]
