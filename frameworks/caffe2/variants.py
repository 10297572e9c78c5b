"""Caffe2's levers, and the mistakes of the lessons."""

from frameworks.variants import input_gradient, kept, mkl_paths, pool_first

LEVERS = [
    kept(
        "cpu",
        "convolutions and ReLUs on IDEEP",
        ('"Conv MaxPool Relu" if best', '"MaxPool" if best'),
    ),
    *mkl_paths(),
    pool_first(  # not in place: the pool's gradient reads what the pool gave
        ('brew.relu(model, "conv2", "conv2")', ""),
        ('dropout(model, "pool1"', 'brew.relu(model, "pool1", "relu1")\ndropout(model, "relu1"'),
        ('brew.relu(model, "conv4", "conv4")', ""),
        ('dropout(model, "pool2"', 'brew.relu(model, "pool2", "relu2")\ndropout(model, "relu2"'),
    ),
    input_gradient((", no_gradient_to_input=1", "")),
]

LESSONS = {
    "softmax_twice": (
        (
            'train_model.net.SoftmaxWithLoss(["dense2", "y"]',
            'train_model.net.Softmax("dense2", "once")\n'
            'train_model.net.SoftmaxWithLoss(["once", "y"]',
        ),
    ),
    "dropout_in_prediction": (("is_test=not model.init_params", "is_test=False"),),
}
