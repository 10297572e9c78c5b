"""Categories of the operations in TensorFlow's profiles: see common/profiles/categories.py.

A name is SCOPE > OPERATION.
"""

CATEGORIES = {
    "dropout": r"\bdropout\b",
    "update": r"^(sgd|adam|Momentum|Adam)\b|\bAssign(Add|Sub)?VariableOp$|\bApply\w+$",
    "convolution forward": r"(^|> )(_Mkl(Native)?)?(Fused)?Conv2D$",
    "convolution backward": r"Conv2DBackprop(Filter|Input)",
    "dense": r"(^|> )(_Mkl(Native)?)?(Fused)?MatMul$",
    "pool": r"MaxPool(Grad)?$",
    "ReLU": r"Relu(Grad)?$",
    "loss": r"SoftmaxCrossEntropy|\bcompile_loss\b",
    "layout and copies": r"Transpose$|_MklToTf$|_MklInputConversion$|Reshape$",
}
# Only for the CNN; other networks may use these operations for something else.
IN_THE_CNN = {
    "update": r"^(Mul|AddV2)$",
    "convolution backward": r"\bBiasAdd_grad > BiasAddGrad$",
}
# For operations outside the update.
DIRECTIONS = {
    "forward": r"^(?!gradient)",
    "backward": r"^gradient(s|_tape)\b",
}
