"""Caffe's ``.caffemodel``: a NetParameter with each layer's blobs, of both generations."""

from common.dump.contents import Contents, shaped

# Field numbers of a layer: (name, type, inputs, outputs, blobs), by the NetParameter's field.
LAYERS = {100: (1, 2, 3, 4, 7), 2: (4, 5, 2, 3, 6)}


def _blob(blob, name):
    double = bool(blob.fields.get(8))
    data = blob.floats(8, "<f8") if double else blob.floats(5)
    if blob.is_bytes(7):
        shape = blob.message(7).integers(1)
    else:
        shape = [blob.one(n) for n in (1, 2, 3, 4) if n in blob.fields]
    return shaped(name, data.tobytes(), data.dtype, shape)


def is_one(net):
    """Whether a message is a NetParameter that has layers."""
    old = net.inner_if_any(2) if 100 not in net.fields else []
    return net.is_bytes(100) or any(isinstance(layer.one(5, None), int) for layer in old)


def read(net):
    """``Contents`` of a NetParameter; arrays are named ``LAYER/0``, ``LAYER/1``, ..."""
    contents = Contents()
    field = 100 if 100 in net.fields else 2
    name, kind, inputs, outputs, blobs = LAYERS[field]
    for layer in net.inner(field):
        own, number = layer.text(name), layer.one(kind)
        words = layer.text(kind) if not isinstance(number, int) else "type %d" % number
        contents.layers.append((words, own, layer.texts(inputs), layer.texts(outputs)))
        for n, blob in enumerate(layer.inner(blobs)):
            contents.add("%s/%d" % (own, n), _blob(blob, "%s/%d" % (own, n)))
    return contents
