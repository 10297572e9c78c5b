"""MLX's levers, and the mistakes of the lessons."""

from frameworks.variants import kept, pool_first, tried

LEVERS = [
    kept("eager", "`mx.compile`", ('"compile": lane == "best"', '"compile": False')),
    kept("reference_blas", "OpenBLAS in place of the wheel's BLAS", LD_PRELOAD=""),
    tried("blas_sleeps", "OpenBLAS's threads sleep sooner", OPENBLAS_THREAD_TIMEOUT="4"),
    pool_first(
        ("self.pool(nn.relu(self.conv2(x)))", "nn.relu(self.pool(self.conv2(x)))"),
        ("self.pool(nn.relu(self.conv4(x)))", "nn.relu(self.pool(self.conv4(x)))"),
    ),
    tried(
        "waits",
        "`mx.eval`, which waits for each step, in place of `mx.async_eval`",
        ("mx.async_eval(", "mx.eval("),
    ),
]

LESSONS = {
    "softmax_twice": (("(network(x), y,", "(mx.softmax(network(x), axis=-1), y,"),),
    "dropout_in_prediction": (("network.eval()", "network.train()"),),
}
