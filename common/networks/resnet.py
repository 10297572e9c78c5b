"""A residual network of bottlenecks on CIFAR-10: ResNet-29, and ResNet-152 as another size."""

from common.data import cifar10
from common.networks.hyperparameters import Decay
from common.networks.initializers import he_uniform
from common.networks.model import CLASSES, Model


def _resnet(depth, blocks, **recipe):
    """A residual network of bottlenecks; blocks: their number in each of its four stages.

    It is He et al.'s network for ImageNet (2015) with three changes: a quarter of the channels; a
    3x3 convolution and no pool at the start; and the stride in a block's 3x3 convolution, not in
    the 1x1 before it (Goyal et al., 2017).
    """
    shapes, positions = {}, {}

    def convolution(name, outputs, inputs, size, side):
        shapes[name + ".weight"] = (outputs, inputs, size, size)
        positions[name] = side**2
        norm = name.replace("conv", "norm")
        for kind in ("weight", "bias", "mean", "variance"):
            shapes["%s.%s" % (norm, kind)] = (outputs,)

    convolution("start.conv", 16, 3, 3, 32)
    inputs, side = 16, 32
    for stage, count in enumerate(blocks):
        width = 16 * 2**stage
        for block in range(count):
            name = "stage%d.block%d." % (stage + 1, block + 1)
            convolution(name + "conv1", width, inputs, 1, side)
            side = side // 2 if stage and not block else side
            convolution(name + "conv2", width, width, 3, side)
            convolution(name + "conv3", 4 * width, width, 1, side)
            if not block:
                convolution(name + "shortcut.conv", 4 * width, inputs, 1, side)
            inputs = 4 * width
    shapes["dense.weight"], shapes["dense.bias"] = (10, inputs), (10,)
    return Model(
        order=6,
        title="ResNet-%d on CIFAR-10" % depth,
        task=CLASSES,
        data=cifar10.load,
        observation=(3, 32, 32),
        shapes=shapes,
        positions=positions,
        initialize=he_uniform,
        hp=Decay(
            batch_size=32,
            learning_rate=0.02,
            momentum=0.9,
            dropout=(),
            weight_decay=1e-4,
            depth=depth,
        ),
        batches_sha256="5c938701d0ff620e3892f547b8ffeca701fa2dec6381a0fe685d12ab69346c62",
        **recipe,
    )


RESNET = _resnet(
    29,
    (2, 2, 3, 2),
    name="resnet",
    whole=(50000, 30),
    quick=(10000, 3),
    phrases={
        "batch normalisation": "",
        "running mean and variance": "head: Batch normalisation",
        "weight decay": "",
    },
    challenge="""\
Images (n, 3, 32, 32). Convolutions have no bias; "norm" is batch normalisation.

    start.conv 3x3, 16 channels, padding 1; start.norm; ReLU
    4 stages of 2, 2, 3, 2 blocks, whose width w is 16, 32, 64, 128. A block is
        conv1 1x1, w channels; norm1; ReLU
        conv2 3x3, w channels, padding 1; norm2; ReLU
        conv3 1x1, 4 w channels; norm3
        plus the block's input; ReLU
    The first block of a stage has shortcut.conv 1x1, 4 w channels, and shortcut.norm, in place of
    its input. In the first block of stages 2, 3, 4 conv2 and shortcut.conv have a stride of 2.
    mean over height and width
    dense 10

Batch normalisation has an epsilon of 0.00001 inside the root, a weight and a bias for each channel.
In training it takes the batch's mean, and its variance divided by n. After that the running ones,
`.mean` and `.variance`, become 0.9 of themselves and 0.1 of the batch's, whose variance is divided
by {divisor}. Prediction takes the running ones. They are given and asked for like weights.""",
)
RESNET152 = _resnet(
    152, (3, 8, 36, 3), name="resnet152", size_of="resnet", whole=(50000, 30), quick=(2000, 1)
)
