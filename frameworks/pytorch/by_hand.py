"""The pose loss in PyTorch, with its backward pass written by hand.

Idiom: ``torch.autograd.Function``, whose ``forward`` keeps what its ``backward`` needs.
Surprise: ``forward`` is not recorded, so a gradient that was forgotten is
    no error: it is None, and the weights that depend on it do not move.
"""

import torch


class JointError(torch.autograd.Function):
    """Mean squared distance of the visible joints of a batch."""

    @staticmethod
    def forward(ctx, joints, targets):
        """A number; ``visible`` is 0 or 1, so that it need not be squared."""
        points, visible = targets[..., :2], targets[..., 2:]
        apart, count = (joints - points) * visible, visible.sum()
        ctx.save_for_backward(apart, count)
        return apart.square().sum() / count

    @staticmethod
    def backward(ctx, upper):
        """The gradient of the joints; the targets need none."""
        apart, count = ctx.saved_tensors
        return upper / count * 2 * apart, None


joint_error = JointError.apply
