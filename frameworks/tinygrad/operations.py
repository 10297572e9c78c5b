"""What the kernels in tinygrad's profiles are for: see common/profiles/categories.py.

A kernel's name is its kind, E for elementwise or r for a reduction, and the sizes of its loops, the
reduced ones last. So a kernel is known by its loops, in one network alone.
"""

# The loops of a convolution are its input channels, and the height and width of its kernel. Its
# images' gradient is a product for each position of the kernel, and the sum of those; its kernel's
# gradient is reduced over height and width.
IN_THE_CNN = {
    "convolution forward": r"^r_.*_(3|50|100)_3_3$",
    "convolution backward": r"^r_.*_(50|100)_4_4$|^r_.*_3_3_(4_)?(\d+_)?(32_32|16_16)$"
    r"|^r_.*_2_3_3$|^r_(25|50)_2_64_64_4$|^r_25_64_2_256_4$",
    "dense": r"^r_(8_1600|8_128|64_1600)_.*",
    "pool": r"^r_.*_2_2_2$",
    "update": r"^E_409600_2_4$",  # as many as the weights of dense1
}
