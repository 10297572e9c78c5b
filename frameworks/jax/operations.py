"""Categories of the operations in XLA's profiles: see common/profiles/categories.py.

XLA fuses operations and drops their layer names, so few categories can be distinguished.
"""

CATEGORIES = {
    "not told apart": r"_fusion(\.|$)|^wrapped_",
    "convolution": r"^conv(olution|_general_dilated)(\.|$)",
    "dense": r"^dot(\.|$)",
    "layout and copies": r"^(copy|transpose)(\.|$)",
}
# Only for the CNN; other networks may use these operations for something else.
IN_THE_CNN = {
    "pool": r"^wrapped_reduce-window(\.|$)",
}
