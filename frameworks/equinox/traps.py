"""Equinox's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap(
        "one_dropout_key_for_the_batch",
        "dropout",
        (
            "jax.vmap(network)(x, jax.random.split(key, len(x)))",
            "jax.vmap(network, (0, None))(x, key)",
        ),
    ),
    trap(
        "one_dropout_key_for_all_steps",
        "dropout",
        ("key, batch_key = jax.random.split(key)", "batch_key = key"),
    ),
    trap(
        "one_dropout_key_for_all_layers",
        "dropout",
        ("else jax.random.split(key, 3)", "else (key,) * 3"),
    ),
    trap("pool_with_stride_one", "forward", ("MaxPool2d(2, 2)", "MaxPool2d(2)"), raises=True),
    trap(
        "tree_at_result_dropped",
        "weights",
        ("network = put(network, weights)", "put(network, weights)"),
    ),
    trap(
        "new_optimiser_state_dropped",
        "momentum",
        (
            "updates, state = optimizer.update(gradients, state)",
            "updates, _ = optimizer.update(gradients, state)",
        ),
    ),
    trap("nesterov", "momentum", ("hp.momentum)", "hp.momentum, nesterov=True)")),
    trap(
        "momentum_as_an_average",
        "momentum",
        (
            "optax.sgd(hp.learning_rate, hp.momentum)",
            "optax.chain(optax.ema(hp.momentum, debias=False), optax.scale(-hp.learning_rate))",
        ),
    ),
]
