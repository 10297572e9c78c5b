"""The pose loss in Chainer, with its backward pass written by hand.

Idiom: a ``FunctionNode``: ``forward`` gets arrays, ``backward`` variables.
Surprise: ``backward`` is itself differentiated for a second derivative. Here it computes on
    arrays, so a second derivative would be wrong without a warning.
"""

import chainer


class JointError(chainer.FunctionNode):
    """Mean squared distance of the visible joints of a batch."""

    def forward(self, inputs):
        """A number; ``visible`` is 0 or 1, so that it need not be squared."""
        joints, targets = inputs
        points, visible = targets[..., :2], targets[..., 2:]
        # Divided like Chainer's variables; with other rounding, the losses soon differ.
        self.share = joints.dtype.type(1 / visible.sum())
        self.apart = (joints - points) * visible
        return (chainer.utils.force_array((self.apart**2).sum() * self.share),)

    def backward(self, indexes, gradients):
        """The gradient of the joints; the targets need none."""
        (upper,) = gradients
        return chainer.as_variable(upper.array * self.share * 2 * self.apart), None


def joint_error(joints, targets):
    """As ``pose.joint_error``."""
    return JointError().apply((joints, targets))[0]
