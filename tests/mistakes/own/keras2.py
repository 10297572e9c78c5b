"""Keras 2's own traps, on CNTK and on Theano, written as changes to its module."""

from common.mistakes.mistake import changed

CNTK, THEANO = ("keras-cntk",), ("keras-theano",)

MISTAKES = [
    changed("nesterov_asked_for", "momentum", ("nesterov=False)", "nesterov=True)")),
    changed("decay_of_the_learning_rate", "gradient", ("nesterov=False)", "decay=1e-4)")),
    changed("decay_of_the_examples", "momentum", ("nesterov=False)", "decay=1e-6)")),
    changed("clipnorm", "gradient", ("nesterov=False)", "clipnorm=5)")),
    changed("clipvalue", "gradient", ("nesterov=False)", "clipvalue=0.5)")),
    changed(
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
    changed(
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
    changed(
        "flatten_moves_channels_last",
        "forward",
        ('Flatten(data_format="channels_last")', "Flatten()"),
    ),
    changed(
        "softmax_in_the_network", "forward", ("Dense(10),", 'Dense(10, activation="softmax"),')
    ),
    changed(
        "relu_with_a_ceiling",
        "forward",
        (
            "Dense(512, activation=relu)",
            "Dense(512, activation=lambda h: K.relu(h, max_value=6.0))",
        ),
    ),
    changed(
        "kernels_not_turned",
        "forward",
        ("w = w[:, :, ::-1, ::-1]  # Theano", "pass  # Theano"),
        ("w = w[:, :, ::-1, ::-1]\n", "pass\n"),
        only=THEANO,
    ),
    changed(
        "relu_with_half_a_gradient_at_0",
        "gradient",
        ('return K.maximum(0, h) if K.backend() == "theano" else K.relu(h)', "return K.relu(h)"),
        only=THEANO,
    ),
    changed(
        "ties_shared_unsaid", "gradient", ('if K.backend() != "theano":', "if True:"), only=THEANO
    ),
    changed(
        "keras_own_loss_clips",
        "gradient",
        (
            "K.logsumexp(scores, axis=-1) - K.sum(y * scores, axis=-1)",
            "K.categorical_crossentropy(y, scores, from_logits=True)",
        ),
        only=THEANO,
    ),
    changed(
        "from_probabilities",
        "gradient",
        ("y, scores, from_logits=True", "y, K.softmax(scores)"),
        only=CNTK,
    ),
    changed("from_logits_forgotten", "gradient", (", from_logits=True", ""), only=CNTK),
    changed(
        "one_seed_for_all_layers",
        "dropout",
        ("randint(1, 2**30, 3).tolist()", "randint(1, 2**30, 1).tolist() * 3"),
        only=THEANO,
    ),
    changed(
        "seeds_unsaid", "dropout", ("Dropout(drop3, seed=seeds[2])", "Dropout(drop3)"), only=THEANO
    ),
    changed(
        "layers_seeds_relied_upon",
        "dropout",
        ("cntk.cntk_py.reset_random_seed(seeds[0])", "pass"),
        only=CNTK,
    ),
    changed(
        "learning_phase_in_prediction",
        "dropout",
        (
            "return model.predict(x, batch_size=64)",
            "return K.function([model.input, K.learning_phase()], [model.output])([x, 1])[0]",
        ),
        only=THEANO,
    ),
    changed(
        "initial_weights_left_in_place",
        "weights",
        ("network.set_weights([to_keras(weights[name]) for name in NAMES])", "pass"),
    ),
]
