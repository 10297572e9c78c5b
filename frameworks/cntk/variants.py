"""CNTK's levers, and the mistake of a lesson."""

from frameworks.variants import mkl_paths, pool_first, tried

LEVERS = [
    tried(
        "affinity",
        "OpenMP's threads stay on their cores",
        KMP_AFFINITY="granularity=fine,compact,1,0",
    ),
    tried("avx512", "MKL uses AVX-512", MKL_CBWR="AVX512"),
    *mkl_paths(),
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
