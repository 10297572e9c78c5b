"""tinygrad's levers, and the mistakes of the lessons."""

from frameworks.variants import kept, pool_first

LEVERS = [
    kept("no_jit", "`TinyJit`", JIT="0"),
    pool_first(
        ("self.conv2(x).relu().max_pool2d()", "self.conv2(x).max_pool2d().relu()"),
        ("self.conv4(x).relu().max_pool2d()", "self.conv4(x).max_pool2d().relu()"),
    ),
]

LESSONS = {
    "softmax_twice": (
        (
            "network(x).sparse_categorical_crossentropy(y)",
            "network(x).softmax().sparse_categorical_crossentropy(y)",
        ),
    ),
    "dropout_in_prediction": (("def forward(x):", "@Context(TRAINING=1)\ndef forward(x):"),),
}
