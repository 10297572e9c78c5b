"""What the operations in PyTensor's profiles are for: see common/profiles/categories.py.

A convolution's products and a dense layer's are the same operations.
"""

CATEGORIES = {
    "convolution": r"^(Dot22|Dot22Scalar|Gemm)\b",
    "dropout": r"^uniform_rv|^random_",
    "loss": r"LogSoftmax|^Advanced\w*Subtensor",
    "layout and copies": r"^(\w+Dims|DimShuffle|Reshape|Join|Alloc|\w*Transpose)\b",
    "not told apart": r"^(Composite|Add|Mul|Sub|Switch|Sum|True_div|Maximum|GT|EQ|FusedElemwise)\b",
}
# In the CNN alone; other networks may use these operations otherwise.
IN_THE_CNN = {
    "layout and copies": r"^(Set|Inc)?Subtensor\{",
}
