"""What the operations of a profile are for: tables of expressions, one for each profiler.

They hold what each profiler was seen to say. What matches none is "other": nothing is guessed.
"""

import re
from collections import OrderedDict

FORWARD, BACKWARD = "convolution forward", "convolution backward"
# Its direction is not told; several parts that are computed or timed as one; none of the others.
CONVOLUTION, TOGETHER, OTHER = "convolution", "not told apart", "other"
LAYOUT = "layout and copies"
LAYERS = ("dense", "pool", "ReLU", "dropout", "loss", "update")
PARTS = (FORWARD, BACKWARD, CONVOLUTION) + LAYERS + (LAYOUT, TOGETHER, OTHER)

# By profiler: (part, what finds it in an operation's name); the first that does counts.
TABLES = {
    "numpy": (  # CALLER > FUNCTION
        (LAYOUT, r"\b(ToStrip|FromStrip|Flatten|windows)\b"),
        ("pool", r"\b(MaxPool|unpool|winners|quarters)\b"),
        ("dropout", r"\bDropout\."),
        ("dense", r"\bDense\."),
        ("ReLU", r"\bReLU\."),
        ("loss", r"\b(cross_entropy|squared_error|joint_error)\b"),
        ("update", r"\b(Momentum|Adam)\.step\b"),
        (TOGETHER, r"> ConvolutionReLU\.forward_share$"),  # pool, bias and ReLU
        (FORWARD, r"\bforward_share\b|\bConvolution(ReLU)?\.forward\b"),
        (BACKWARD, r"\bbackward_share\b|\bConvolution(ReLU)?\.backward\b"),
    ),
    "pytorch": (  # CALL > OPERATION; a call that ends in Backward0 is of the way back
        ("update", r"^Optimizer\.|^aten::_foreach_"),
        (LAYOUT, r"> aten::(copy_|clone|contiguous|_to_copy)$|^aten::(copy_|clone|permute)$"),
        (FORWARD, r"^aten::conv(2d|olution)\b"),
        (BACKWARD, r"\bConvolutionBackward0\b"),
        ("dense", r"^aten::(linear|matmul)\b|\b(Addmm|Mm)Backward0\b"),
        ("pool", r"\bmax_pool2d\b|\bMaxPool2DWithIndicesBackward0\b"),
        ("ReLU", r"^aten::relu\b|\bReluBackward0\b"),
        ("dropout", r"^aten::dropout\b"),
        ("loss", r"^aten::cross_entropy_loss\b|\b(LogSoftmax|NllLoss)Backward0\b"),
    ),
    "tensorflow": (  # SCOPE > OPERATION
        ("dropout", r"\bdropout\b"),
        ("update", r"^(sgd|adam|Momentum|Adam)\b|\bAssign(Add|Sub)?VariableOp$|\bApply\w+$"),
        (FORWARD, r"(^|> )(_Mkl(Native)?)?(Fused)?Conv2D$"),
        (BACKWARD, r"Conv2DBackprop(Filter|Input)"),
        ("dense", r"(^|> )(_Mkl(Native)?)?(Fused)?MatMul$"),
        ("pool", r"MaxPool(Grad)?$"),
        ("ReLU", r"Relu(Grad)?$"),
        ("loss", r"SoftmaxCrossEntropy|\bcompile_loss\b"),
        (LAYOUT, r"Transpose$|_MklToTf$|_MklInputConversion$|Reshape$"),
    ),
    "xla": (
        (TOGETHER, r"_fusion(\.|$)|^wrapped_"),
        (CONVOLUTION, r"^conv(olution|_general_dilated)(\.|$)"),
        ("dense", r"^dot(\.|$)"),
        (LAYOUT, r"^(copy|transpose)(\.|$)"),
    ),
    "mxnet": (
        (FORWARD, r"^Convolution$"),
        (BACKWARD, r"^_backward_Convolution$"),
        ("dense", r"^(_backward_)?FullyConnected$"),
        ("pool", r"^(_backward_)?Pooling$"),
        ("dropout", r"^(_backward_)?Dropout$"),
        ("loss", r"^(_backward_)?(log_softmax|pick|SoftmaxOutput)$"),
        ("update", r"_update$"),
        (LAYOUT, r"^(CopyCPU2CPU|(_backward_)?(copy|transpose|Reshape))$"),
        (TOGETHER, r","),  # operators in bulk
    ),
    "cntk": (  # NODE, DIRECTION
        ("update", r"^Weight Update$"),
        (FORWARD, r"^Convolution, forward$"),
        (BACKWARD, r"^Convolution, backward$"),
        ("dense", r"^Times, "),
        ("pool", r"^Pooling, "),
        ("ReLU", r"^ReLU, "),
        ("dropout", r"^Dropout, "),
        (LAYOUT, r"^(TransposeAxes|Reshape), "),
        (TOGETHER, r"^Plus, "),  # biases of convolutions and of dense layers
    ),
    "caffe2": (
        (FORWARD, r"^Conv$"),
        (BACKWARD, r"^ConvGradient$"),
        ("dense", r"^FC(Gradient)?$"),
        ("pool", r"^MaxPool(Gradient)?$"),
        ("ReLU", r"^Relu(Gradient)?$"),
        ("dropout", r"^Dropout(Grad)?$"),
        ("loss", r"^SoftmaxWithLoss(Gradient)?$"),
        ("update", r"Update$|^(Adam|LearningRate|AtomicIter)$"),
        (LAYOUT, r"^Copy\w+To\w+$"),
    ),
    "chainer": (  # FUNCTION, DIRECTION
        (FORWARD, r"^Convolution2DFunction, forward$"),
        (BACKWARD, r"^Convolution2DFunction, backward$"),
        ("dense", r"^LinearFunction, "),
        ("pool", r"^MaxPoolingND, "),
        ("ReLU", r"^ReLU, "),
        ("dropout", r"^Dropout, "),
        ("loss", r"^SoftmaxCrossEntropy, "),
    ),
    "theano": (
        (FORWARD, r"^CorrMM\{"),
        (BACKWARD, r"^CorrMM_grad(Weights|Inputs)\{"),
        ("dense", r"^(Dot22|Dot22Scalar|Gemm\{\w+\})$"),
        ("dropout", r"^mrg_uniform\{"),
        ("loss", r"^CrossentropySoftmax"),
        (LAYOUT, r"^(Inplace)?DimShuffle\{|^Reshape\{"),
        (TOGETHER, r"^Elemwise\{"),
    ),
}

# What only the CNN's own code tells, because another network may use the operation otherwise.
OF_THE_CNN = {
    "pytorch": (("dropout", r"\bMulBackward0\b"),),
    "tensorflow": (("update", r"^(Mul|AddV2)$"), (BACKWARD, r"\bBiasAdd_grad > BiasAddGrad$")),
    "xla": (("pool", r"^wrapped_reduce-window(\.|$)"),),
    "mxnet": (("ReLU", r"^(_backward_)?Activation$"), ("loss", r"^(_backward_)?mean$")),
    "cntk": (("dropout", r"^Select, "),),  # Keras 2: between training and prediction
    "theano": (("pool", r"^(Inc)?Subtensor\{"), (BACKWARD, r"^Sum\{axis=\[0, 2, 3\]")),
}

# By profiler, where it tells one way from the other: what finds the way there, and the way back,
# in the name of an operation that is not the update's.
DIRECTIONS = {
    "numpy": (r"forward", r"backward|unpool"),
    "pytorch": (r"^aten::", r"Backward0\b|^torch::autograd::AccumulateGrad"),
    "tensorflow": (r"^(?!gradient)", r"^gradient(s|_tape)\b"),
    "mxnet": (r"^[A-Z]\w+$|^(log_softmax|pick|mean)$", r"^_backward_"),
    "caffe2": (r"^(Conv|FC|MaxPool|Relu|Dropout|SoftmaxWithLoss)$", r"Grad(ient)?$"),
    "chainer": (r", forward$", r", backward$"),
    "cntk": (r", forward$", r", backward$"),
}
PHASES = ("forward", "backward", "update")

# Whose profiler it is that an environment has, where the name does not say so.
PROFILERS = {
    "cupy": "numpy",
    "keras": "tensorflow",
    "keras-cntk": "cntk",
    "keras-jax": "xla",
    "keras-theano": "theano",
    "keras-torch": "pytorch",
    "mxnet-module": "mxnet",
    "tensorflow1": "tensorflow",
}


def _profiler(name):
    name = name[: -len("-cuda")] if name.endswith("-cuda") else name
    return PROFILERS.get(name, name)


def part(name, model, operation):
    """Which of ``PARTS`` an operation is of, in an environment's profile of a model."""
    profiler = _profiler(name)
    known = OF_THE_CNN.get(profiler, ()) if model == "cnn" else ()
    for one, expression in known + TABLES[profiler]:
        if re.search(expression, operation):
            return one
    return OTHER


def shares(name, model, operations):
    """{part: its share of a profile's sum}, of {operation: seconds}; parts without any left out."""
    total = sum(operations.values())
    seconds = OrderedDict((one, 0.0) for one in PARTS)
    for operation, took in operations.items():
        seconds[part(name, model, operation)] += took
    return OrderedDict((one, took / total) for one, took in seconds.items() if took)


def phases(name, model, operations):
    """{one of ``PHASES``: its share of a profile's sum}; empty where a profiler does not tell."""
    directions = DIRECTIONS.get(_profiler(name))
    if directions is None:
        return OrderedDict()
    total = sum(operations.values())
    seconds = OrderedDict((one, 0.0) for one in PHASES)
    for operation, took in operations.items():
        found = [bool(re.search(one, operation)) for one in directions]
        if part(name, model, operation) == "update":
            seconds["update"] += took
        elif found[1]:
            seconds["backward"] += took
        elif found[0]:
            seconds["forward"] += took
    return OrderedDict((one, took / total) for one, took in seconds.items())
