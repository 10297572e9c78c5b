"""What ``compare`` says of published implementations, and of mistakes put into them."""

import sys
import types

# torchvision's operators are not built for each PyTorch; the networks here use none of them.
sys.modules["torchvision._meta_registrations"] = types.ModuleType("unused")
