"""Categories of the operations in NumPy's profiles: see common/profiles/categories.py.

A name is CALLER > FUNCTION.
"""

CATEGORIES = {
    "layout and copies": r"\b(ToStrip|FromStrip|Flatten|windows)\b",
    "pool": r"\b(MaxPool|unpool|winners|quarters)\b",
    "dropout": r"\bDropout\.",
    "dense": r"\bDense\.",
    "ReLU": r"\bReLU\.",
    "loss": r"\b(cross_entropy|squared_error|joint_error)\b",
    "update": r"\b(Momentum|Adam)\.step\b",
    "not told apart": r"> ConvolutionReLU\.forward_share$",  # pool, bias and ReLU
    "convolution forward": r"\bforward_share\b|\bConvolution(ReLU)?\.forward\b",
    "convolution backward": r"\bbackward_share\b|\bConvolution(ReLU)?\.backward\b",
}
# For operations outside the update.
DIRECTIONS = {
    "forward": r"forward",
    "backward": r"backward|unpool",
}
