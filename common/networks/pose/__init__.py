"""Pose: AlexNet finds the joints of drawn figures, as in DeepPose; narrow and at full width."""

from common.data import figures
from common.networks.hyperparameters import Divided
from common.networks.initializers import he_uniform
from common.networks.model import JOINTS, Model, with_biases


def _alexnet(divisor, **recipe):
    """AlexNet (Krizhevsky et al., 2012), one tower; its last layer gives the joints of a figure.

    As in DeepPose (Toshev & Szegedy, 2014). Convolutions 1 and 2 are followed by ReLU, local
    response normalisation and a pool, 3 and 4 by ReLU, 5 by ReLU and a pool. Pools are 3x3 with a
    stride of 2.
    """
    narrow, middle, wide = 96 // divisor, 256 // divisor, 384 // divisor
    units, outputs = 4096 // divisor, 2 * len(figures.JOINTS)
    return Model(
        order=7,
        task=JOINTS,
        data=figures.load,
        observation=(3, figures.SIDE, figures.SIDE),
        shapes=with_biases(
            conv1=(narrow, 3, 11, 11),  # stride 4
            conv2=(middle, narrow, 5, 5),
            conv3=(wide, middle, 3, 3),
            conv4=(wide, wide, 3, 3),
            conv5=(middle, wide, 3, 3),
            dense1=(units, middle * 5 * 5),
            dense2=(units, units),
            dense3=(outputs, units),
        ),
        positions={
            "conv1": 53 * 53,
            "conv2": 26 * 26,
            "conv3": 12 * 12,
            "conv4": 12 * 12,
            "conv5": 12 * 12,
        },
        layers=frozenset(["pool"]),
        initialize=he_uniform,
        hp=Divided(
            batch_size=16,
            learning_rate=0.02,
            momentum=0.9,
            dropout=(0.5, 0.5),
            divisor=divisor,
        ),
        whole=(2000, 30),
        batches_sha256="5d758afa09442cebab33961bf2a014d5c3ab907ce82f1ffcfdfd30ba065c8aa7",
        **recipe,
    )


POSE = _alexnet(
    4,
    name="pose",
    title="Pose, a narrow AlexNet",
    quick=(2000, 3),
    phrases={
        "local response normalisation": "",
        "its alpha": "head: Local response normalisation",
        "hidden joints": "",
        "pool with overlap": "",
    },
)
ALEXNET = _alexnet(1, name="alexnet", size_of="pose", title="Pose, AlexNet", quick=(2000, 1))
