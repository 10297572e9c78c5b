"""Categories of the operations in Theano's profiles: see common/profiles/categories.py."""

CATEGORIES = {
    "convolution forward": r"^CorrMM\{",
    "convolution backward": r"^CorrMM_grad(Weights|Inputs)\{",
    "dense": r"^(Dot22|Dot22Scalar|Gemm\{\w+\})$",
    "dropout": r"^mrg_uniform\{",
    "loss": r"^CrossentropySoftmax",
    "layout and copies": r"^(Inplace)?DimShuffle\{|^Reshape\{",
    "not told apart": r"^Elemwise\{",
}
# Only for the CNN; other networks may use these operations for something else.
IN_THE_CNN = {
    "pool": r"^(Inc)?Subtensor\{",
    "convolution backward": r"^Sum\{axis=\[0, 2, 3\]",
}
