"""Keras 3's levers, different for each backend, and the mistake of a lesson."""

from frameworks.variants import kept, newer_mkl, pool_first

TENSORFLOW, JAX, TORCH = ("keras",), ("keras-jax",), ("keras-torch",)

LEVERS = [
    newer_mkl(only=("keras-torch",)),
    kept("nchw", "NHWC", ('"NHWC" if best or not', '"NHWC" if not', "backends"), only=TENSORFLOW),
    kept(
        "between",
        "as many operations at once as cores",
        (
            "set_inter_op_parallelism_threads(at_once)",
            "set_inter_op_parallelism_threads(1)",
            "backends",
        ),
        only=TENSORFLOW,
    ),
    kept(
        "nchw",
        "NHWC",
        ('"NHWC" if best else "NCHW"', '"NCHW"', "backends"),
        # Rows and columns are the last axes then.
        ("x[:, :, 0::2], x[:, :, 1::2]", "x[..., 0::2], x[..., 1::2]", "pools"),
        ("x[:, 0::2], x[:, 1::2]", "x[:, :, 0::2], x[:, :, 1::2]", "pools"),
        only=JAX,
    ),
    kept(
        "ynn",
        "XLA's older convolutions",
        ("OLDER_CONVOLUTIONS if best else", "OLDER_CONVOLUTIONS if False else", "backends"),
        only=JAX,
    ),
    kept(
        "windows",
        "the pool as comparisons of pixels",
        ('"comparisons" if', '"windows" if', "backends"),
        only=JAX,
    ),
    kept(
        "contiguous",
        "channels-last images",
        ('"channels_last" if best else "contiguous"', '"contiguous"', "backends"),
        only=TORCH,
    ),
    pool_first(
        ('activation="relu", name="conv2"', 'name="conv2"'),
        ("layers.Dropout(drop1)", "layers.ReLU(), layers.Dropout(drop1)"),
        ('activation="relu", name="conv4"', 'name="conv4"'),
        ("layers.Dropout(drop2)", "layers.ReLU(), layers.Dropout(drop2)"),
    ),
]

LESSONS = {
    "dropout_in_prediction": (
        (
            "return model.predict(x, batch_size=256, verbose=0)",
            "parts = [model(x[i : i + 256], training=True) for i in range(0, len(x), 256)]\n"
            "return np.concatenate([keras.ops.convert_to_numpy(part) for part in parts])",
        ),
    ),
}
