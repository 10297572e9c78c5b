"""PyTensor's levers, and the mistakes of the lessons."""

from frameworks.variants import kept, newer_mkl, pool_first, tried

LEVERS = [
    newer_mkl(),
    kept("gc", "a step's buffers kept", ('"cvm_nogc" if best else "cvm"', '"cvm"')),
    kept(
        "own_gradient",
        "a convolution's gradient as a correlation",
        ("pullback=gradient, inline=True", "inline=True"),
    ),
    tried("numba", "compiled by Numba", ('"cvm_nogc" if best', '"numba" if best')),
    pool_first(
        (
            'h = relu(same_conv(h, shared, "conv2"))\nh = max_pool(h[:, 1:-1, 1:-1])',
            'h = same_conv(h, shared, "conv2")\nh = relu(max_pool(h[:, 1:-1, 1:-1]))',
        ),
        (
            'h = relu(same_conv(h, shared, "conv4"))\nh = max_pool(h[:, 1:-1, 1:-1])',
            'h = same_conv(h, shared, "conv4")\nh = relu(max_pool(h[:, 1:-1, 1:-1]))',
        ),
    ),
]

LESSONS = {
    "softmax_twice": (
        (
            "pt.special.log_softmax(scores, axis=1)",
            "pt.special.log_softmax(pt.special.softmax(scores, axis=1), axis=1)",
        ),
    ),
    "dropout_in_prediction": (("scores(None)", "scores(first)"),),
}
