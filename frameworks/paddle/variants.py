"""Paddle's levers, and the mistakes of the lessons."""

from frameworks.variants import input_gradient, kept, pool_first

LEVERS = [
    kept("dynamic", "`to_static`", ('"to_static": best', '"to_static": False')),
    kept(
        "own_convolutions",
        "oneDNN's convolutions",
        ("onednn.FLAG: best", "onednn.FLAG: False and best"),
    ),
    kept(
        "several_at_once",
        "one operation after the other",
        ("paddle.set_flags({trace_run: best})", "paddle.set_flags({trace_run: False})"),
    ),
    pool_first(
        ('("relu2", nn.ReLU()),', ""),
        ('("pool1", nn.MaxPool2D(2)),', '("pool1", nn.MaxPool2D(2)), ("relu2", nn.ReLU()),'),
        ('("relu4", nn.ReLU()),', ""),
        ('("pool2", nn.MaxPool2D(2)),', '("pool2", nn.MaxPool2D(2)), ("relu4", nn.ReLU()),'),
    ),
    input_gradient(("x = paddle.to_tensor(x)", "x = paddle.to_tensor(x, stop_gradient=False)")),
]

LESSONS = {
    "softmax_twice": (("criterion(network(x), y)", "criterion(F.softmax(network(x)), y)"),),
    "dropout_in_prediction": (("network.eval()", "network.train()"),),
}
