"""Where a cause is mended: the concept of the phrase book that a framework says it with."""

import re

BOOK = "reports/README.md#phrase-book"

# The first pattern that a cause's words match.
CONCEPTS = (
    (r"^evaluation", None),  # which no framework is asked for
    (r"the images", "layout of images"),
    (r"features in the order", "flatten order"),
    (r"gates stand", "order of the gates"),
    (r"running free", "free-running"),
    (r"a sequence begins|each chunk", "state carried"),
    (r"[dD]ropout|mask", "dropout"),
    (r"truncated", "gradient truncated"),
    (r"forget gate|LSTM's bias|recurrent matrix|two biases", "LSTM"),
    (r"Adam's epsilon", "Adam's epsilon"),
    (r"Adam", "Adam"),
    (r"running (mean|variance)", "running mean and variance"),
    (r"batch normalisation's epsilon|gamma|beta|variance that normalises", "batch normalisation"),
    (r"learning rate", "optimiser"),
    (r"decay", "weight decay"),
    (r"padded|stride of a block", "padding"),
    (r"pools?\b", "pooling"),
    (r"bfloat16|float16|TF32", "precision"),
    (r"kernels|in and out|transposed", "weight layout"),
    (r"not put in|has a bias|are exchanged|too high|other weights", "initial weights put in"),
    (r"labels are off|targets are", "label type"),
    (r"[mM]omentum|dampening|state is lost", "momentum"),
    (
        r"softmax|labels are smoothed|probabilit|loss|squared error|counts|divided",
        "loss and its reduction",
    ),
    (r"activation", "activation"),
    (r"never reset|every second step", "gradients reset"),
    (r"step before", "backward"),
    (r"not trained|nothing is trained|clipped", "optimiser"),
)


def concept(says):
    """The concept's name; None for what no framework says, such as rows in another order."""
    return next((name for pattern, name in CONCEPTS if re.search(pattern, says)), None)
