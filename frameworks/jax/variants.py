"""JAX's levers, and the mistakes of the lessons."""

from frameworks.variants import kept, pool_first

LEVERS = [
    kept(
        "nchw",
        "NHWC",
        ('"layout": "NHWC" if best else "NCHW"', '"layout": "NCHW"'),
        # Rows and columns are the last axes then.
        ("x[:, :, 0::2], x[:, :, 1::2]", "x[..., 0::2], x[..., 1::2]"),
        ("x[:, 0::2], x[:, 1::2]", "x[:, :, 0::2], x[:, :, 1::2]"),
    ),
    kept(
        "ynn",
        "XLA's older convolutions",
        ("OLDER_CONVOLUTIONS if best else", "OLDER_CONVOLUTIONS if False else"),
    ),
    kept(
        "threefry",
        "dropout's masks from the generator `rbg`, not `threefry`",
        ('"rbg" if best', '"threefry2x32" if best'),
    ),
    kept(
        "windows",
        "the pool as comparisons of pixels",
        ('"comparisons" if best', '"windows" if best'),
    ),
    kept(
        "state_kept", "the old state donated", ("@partial(jax.jit, donate_argnums=0)", "@jax.jit")
    ),
    pool_first(
        (
            'x = jax.nn.relu(conv(x, params["conv2"], layout))\nx = max_pool(x, settings)',
            'x = jax.nn.relu(max_pool(conv(x, params["conv2"], layout), settings))',
        ),
        (
            'x = jax.nn.relu(conv(x, params["conv4"], layout))\nx = max_pool(x, settings)',
            'x = jax.nn.relu(max_pool(conv(x, params["conv4"], layout), settings))',
        ),
    ),
]

LESSONS = {
    "softmax_twice": (
        (
            "cross_entropy(network(params, x, key), y)",
            "cross_entropy(jax.nn.softmax(network(params, x, key)), y)",
        ),
    ),
    "dropout_in_prediction": (
        ("jax.jit(network)", "jax.jit(partial(network, key=jax.random.key(0)))"),
    ),
}
