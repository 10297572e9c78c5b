"""Theano's levers, and the mistakes of the lessons."""

from frameworks.variants import kept, newer_mkl, pool_first

LEVERS = [
    newer_mkl(),
    kept("gc", "a step's buffers kept", ('"cvm_nogc" if best else "cvm"', '"cvm"')),
    kept(
        "openblas",
        "MKL, on Debian's OpenBLAS",
        ("config = theano.config", 'config = theano.config\nconfig.blas.ldflags = "-lopenblas"'),
    ),
    pool_first(
        ('max_pool(relu(conv(h, "conv2")))', 'relu(max_pool(conv(h, "conv2")))'),
        ('max_pool(relu(conv(h, "conv4")))', 'relu(max_pool(conv(h, "conv4")))'),
    ),
]

LESSONS = {
    "softmax_twice": (("softmax(train_scores)", "softmax(softmax(train_scores))"),),
    "dropout_in_prediction": (("if not training or rate == 0:", "if rate == 0:"),),
}
