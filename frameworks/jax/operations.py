"""What the operations in XLA's profiles are for: see common/profiles/categories.py.

XLA fuses operations and drops the layers' names, so few are told apart.
"""

CATEGORIES = {
    "not told apart": r"_fusion(\.|$)|^wrapped_",
    "convolution": r"^conv(olution|_general_dilated)(\.|$)",
    "dense": r"^dot(\.|$)",
    "layout and copies": r"^(copy|transpose)(\.|$)",
}
# In the CNN alone; other networks may use these operations otherwise.
IN_THE_CNN = {
    "pool": r"^wrapped_reduce-window(\.|$)",
}
