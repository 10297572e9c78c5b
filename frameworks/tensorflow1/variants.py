"""TensorFlow 1's levers, and the mistakes of the lessons."""

from frameworks.variants import kept, mkl_paths, tried

LEVERS = [
    kept("mkl_dnn", "MKL-DNN", TF_DISABLE_MKL="1"),
    kept("nchw", "NHWC", ('else "NHWC"', 'else "NCHW"')),
    tried("blocktime", "OpenMP's threads sleep after 1 ms", KMP_BLOCKTIME="1"),
    tried(
        "affinity",
        "OpenMP's threads stay on their cores",
        KMP_AFFINITY="granularity=fine,compact,1,0",
    ),
    *mkl_paths(),
    kept(
        "relu_first",
        "pool before the ReLU",
        *(
            (
                "tf.nn.relu(self.pool(self.convolution(x, %s)))" % layer,
                "self.pool(tf.nn.relu(self.convolution(x, %s)))" % layer,
            )
            for layer in ('"conv2", 50, 50', '"conv4", 100, 100')
        ),
    ),
]

LESSONS = {
    "softmax_twice": (("logits=scores", "logits=tf.nn.softmax(scores)"),),
    "dropout_in_prediction": (("training=False", "training=True"),),
}
