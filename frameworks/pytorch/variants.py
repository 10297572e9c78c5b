"""PyTorch's levers, and the mistakes of the lessons."""

from frameworks.variants import input_gradient, kept, newer_mkl, pool_first, tried

LEVERS = [
    newer_mkl(),
    newer_mkl("gpt"),
    kept(
        "contiguous",
        "channels-last memory",
        ('"channels_last" if best else "contiguous"', '"contiguous"'),
    ),
    kept(
        "plain_optimizer",
        "the fused optimiser",
        ('"fused_optimizer": best', '"fused_optimizer": False'),
    ),
    pool_first(
        ("relu2=nn.ReLU(),", ""),
        ("pool1=nn.MaxPool2d(2),", "pool1=nn.MaxPool2d(2), relu2=nn.ReLU(),"),
        ("relu4=nn.ReLU(),", ""),
        ("pool2=nn.MaxPool2d(2),", "pool2=nn.MaxPool2d(2), relu4=nn.ReLU(),"),
    ),
    input_gradient(
        (
            "torch.from_numpy(x).to(device, non_blocking=True)",
            "torch.from_numpy(x).to(device, non_blocking=True).requires_grad_()",
        ),
    ),
    kept(
        "denormal",
        "denormal numbers flushed to 0",
        ("torch.set_flush_denormal(best)", "torch.set_flush_denormal(False)"),
    ),
    tried(
        "uniform_mask",
        "dropout's masks from `torch.rand`, not `bernoulli_`",
        ("drop1=nn.Dropout(drop1)", "drop1=Dropout(drop1)"),
        ("drop2=nn.Dropout(drop2)", "drop2=Dropout(drop2)"),
        (
            "def symbol(",
            "class Dropout(nn.Dropout):\n"
            "    def forward(self, x):\n"
            "        keep = 1 - self.p\n"
            "        mask = (torch.rand_like(x) < keep) / keep\n"
            "        return x * mask if self.training else x\n\n\n"
            "def symbol(",
        ),
    ),
    tried(
        "compile",
        "`torch.compile`",
        ("network.train()", "network.compile()\nnetwork.train()"),
    ),
    tried(
        "by_hand",
        "the loss's backward pass written by hand",
        (
            "def joint_error(",
            "from frameworks.pytorch.by_hand import joint_error\n\n\ndef by_autograd(",
        ),
        model="pose",
    ),
]

LESSONS = {
    "softmax_twice": (("criterion(network(x), y)", "criterion(network(x).softmax(1), y)"),),
    "dropout_in_prediction": (("network.eval()", "network.train()"),),
}
