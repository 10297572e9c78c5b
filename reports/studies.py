"""Questions that others asked, which a bench answers."""

from collections import OrderedDict, namedtuple

Study = namedtuple("Study", "question published told why", defaults=("",))
Study.__doc__ = """A question about one network.

question: what is asked.
published: what was found elsewhere, with its source's conditions.
told: what else is known here, and where it is shown.
why: why the answer here is another one than what was published, where it is.
"""


def answers(study, answer):
    """The (term, text) pairs of a study, of which ``answer`` is made from what was measured."""
    pairs = [
        ("Answer", ". ".join([answer] * bool(answer) + [study.told]) + "."),
        ("Published", study.published[0].upper() + study.published[1:] + "."),
        ("Why it differs", study.why),
    ]
    return [(term, text) for term, text in pairs if text]


# Where lane best has what the first one makes, the second one undoes it, and the other way round.
OPPOSITES = {"relu_first": "pool_first"}


def turned(lever, measured):
    """A lever and its ratio of speed, with the interval; those of its opposite, if it has one."""
    ratio, (low, high) = measured["ratio"], measured["interval"]
    if lever in OPPOSITES:
        return OPPOSITES[lever], 1 / ratio, 1 / high, 1 / low
    return lever, ratio, low, high


# By the network whose levers answer it.
LEVERS = OrderedDict(
    pose=Study(
        "Is training faster when the loss's backward pass is written by hand?",
        "100 epochs of pose regression in PyTorch took 47.6 h by autograd and 47.6 h by hand on a "
        "CPU, 2.60 h and 2.49 h on a GPU",
        "In lane same, losses and weights stay equal bit for bit (tests/parity/test_by_hand.py)",
    ),
    mnist_cnn=Study(
        "Which way to write a pool's backward pass is fast?",
        "of a from-scratch CNN's backward pass on MNIST, 10.3 ms with 8 images, assignment by "
        "index took 9.72 ms; multiplication by a mask 0.28 ms",
        "None is faster than the module's own, which compares each pixel with the maximum. The "
        "four give the same numbers (tests/common/test_layers.py), and keep on the way forward "
        "where the maximum was, which costs time as well",
        "Index assignment eats the time only in a Python loop over the windows: NumPy assigns all "
        "of them at once with arrays of indices, and a mask is then no faster.",
    ),
)

# By the network whose steps of several batch sizes answer it.
STEP = OrderedDict(
    pose=Study(
        "Where does Chainer lose time to PyTorch?",
        "a mean epoch of pose regression took Chainer 8.2 s and PyTorch 5.0 s on a CPU, 0.45 s and "
        "0.28 s on a GPU",
        "A step is forward, backward and update, and proven to be the same",
        "The published ratio is 1.6 on a CPU. PyTorch computes convolutions with oneDNN by now. "
        "Here Chainer has NumPy's matrix products for them, of an old OpenBLAS, which is that of "
        "Python 3.7; iDeep, which has oneDNN's forerunner, crashes on images this large "
        "(frameworks/chainer/pose.py).",
    ),
)

# Workers that share a batch answer it.
SHARED = Study(
    "When do two workers beat one process?",
    "in Chainer two GPUs took 75.3 s for 20 epochs of an MLP where one took 34.8 s, 273 s against "
    "127 s for 50 of LeNet-5, and 789 s against 1212 s for 50 of ResNet-152; the guess was that "
    "networks and batches were too small for what the exchange costs",
    "Workers hold the same certificate as one process: the averaged gradient of the shares is the "
    "batch's. PyTorch's ResNet does not: batch normalisation of a share is another one, and the "
    "gradient rung fails. In Chainer, workers share its mean and variance, too",
    "Published are two GPUs against one, here workers share the two cores that one process has. To "
    "be compared with that are workers and one core: in Chainer's LeNet-5 and ResNet, workers win "
    "with every batch, in its MLP with the larger ones. In its LSTM a step costs the same "
    "whatever its batch, so that half a batch saves nothing.",
)
