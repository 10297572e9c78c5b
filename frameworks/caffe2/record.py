"""Recording a pass through a Caffe2 network.

Idiom: operators are run one by one, and ``FetchBlob`` copies each result.
Surprise: after a whole net has run, a blob that a ReLU changed in place no longer holds the
    convolution's result.
"""

from collections import OrderedDict

from caffe2.python import workspace


def record(model, x):
    """{name: array} of the images and of each operator's result, in the order of computation."""
    train_net, predict_net, device = model  # predict_net has no dropout
    workspace.SwitchWorkspace(train_net.Name())
    workspace.FeedBlob("x", x, device)
    found = OrderedDict(x=x)
    for operator in predict_net.Proto().op:
        workspace.RunOperatorOnce(operator)
        name = operator.output[0]
        found[name + " " + operator.type if name in found else name] = workspace.FetchBlob(name)
    return found
