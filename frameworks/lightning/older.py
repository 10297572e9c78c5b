"""Lightning: what older versions of PyTorch lack."""

from frameworks.pytorch.older import prepare as prepare
