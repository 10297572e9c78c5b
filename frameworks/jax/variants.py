"""JAX's levers, and the mistakes of the lessons."""

from frameworks.variants import XLA, kept, pool_first

LEVERS = [
    kept(
        "nchw",
        "NHWC",
        ('"layout": "NHWC" if best else "NCHW"', '"layout": "NCHW"'),
        # Rows and columns are the last axes then.
        ("x[:, :, 0::2], x[:, :, 1::2]", "x[..., 0::2], x[..., 1::2]"),
        ("x[:, 0::2], x[:, 1::2]", "x[:, :, 0::2], x[:, :, 1::2]"),
    ),
    *XLA,
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
