"""Questions that others asked, which a bench of levers answers: a study for each such network."""

from collections import OrderedDict, namedtuple

Study = namedtuple("Study", "question published told")
Study.__doc__ = """A question about one network.

question: what is asked.
published: what was found elsewhere, with its source's conditions.
told: what else is known here, and where it is shown.
"""

# By the network whose levers answer it.
STUDIES = OrderedDict(
    pose=Study(
        "Is training faster when the loss's backward pass is written by hand?",
        "100 epochs of pose regression in PyTorch took 47.6 h by autograd and 47.6 h by hand on a "
        "CPU, 2.60 h and 2.49 h on a GPU",
        "Losses and weights stay equal bit for bit (tests/parity/test_by_hand.py)",
    ),
    mnist_cnn=Study(
        "Which way to write a pool's backward pass is fast?",
        "of a from-scratch CNN's backward pass on MNIST, 10.3 ms with 8 images, assignment by "
        "index took 9.72 ms; multiplication by a mask 0.28 ms",
        "The four ways and the module's own, which compares each pixel with the maximum, give the "
        "same numbers (tests/common/test_layers.py)",
    ),
)
