"""CNTK's levers, and the mistake of a lesson."""

from frameworks.variants import full_vectors, mkl_paths, pool_first, tried

LEVERS = [
    tried(
        "affinity",
        "OpenMP's threads stay on their cores",
        KMP_AFFINITY="granularity=fine,compact,1,0",
    ),
    tried("avx512", "MKL uses AVX-512", MKL_CBWR="AVX512"),
    *mkl_paths(),
    full_vectors(
        *(
            (
                'Convolution2D(3, %d, activation=C.relu, pad=True, name="%s")' % (narrow, layer),
                'Convolution2D(3, %d, activation=C.relu, pad=True, name="%s")' % (wide, layer),
            )
            for layer, narrow, wide in (
                ("conv1", 50, 64),
                ("conv2", 50, 64),
                ("conv3", 100, 112),
                ("conv4", 100, 112),
            )
        ),
        ("blocks = {}", "blocks, weights = {}, channels.widened(weights)"),
        ("return found", "return channels.cut(found)"),
    ),
    pool_first(
        ('activation=C.relu, pad=True, name="conv2"', 'pad=True, name="conv2"'),
        ("Dropout(drop1,", "C.relu, Dropout(drop1,"),
        ('activation=C.relu, pad=True, name="conv4"', 'pad=True, name="conv4"'),
        ("Dropout(drop2,", "C.relu, Dropout(drop2,"),
    ),
]

LESSONS = {
    "softmax_twice": (
        (
            "cross_entropy_with_softmax(network, y)",
            "cross_entropy_with_softmax(C.softmax(network), y)",
        ),
    ),
}
