"""Recording a pass, or a step of training, of any PyTorch model as it is.

Idiom: a forward hook on every module; nothing in the model is changed. What the network itself
    returns is ``output``, unless a module has returned it.
Surprise: ``nn.ReLU(inplace=True)`` writes over the tensor that an earlier hook was given, so each
    is copied. ``nn.TransformerEncoder`` has a fast path past its modules, which is switched off.
"""

import contextlib
import copy
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import torch
from torch import nn


def record(network, x):
    """{name: array} of the inputs and of each module's result, in the order of computation.

    x: an array; a tuple of arrays, in the order of the model's arguments; or a dict of them, by
    their names, such as input_ids and attention_mask.
    """
    network = _bare(network)
    modes = [(module, module.training) for module in network.modules()]
    network.eval()  # dropout off
    try:
        with torch.no_grad():
            return _passed(network, x)
    finally:
        for module, mode in modes:
            module.training = mode


def exact(network, x):
    """The same in float64, for ``compare --exact``."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of what the network makes, such as a first state
    try:
        with _CastsToFloat64():
            return record(copy.deepcopy(_bare(network)).double(), x)
    finally:
        torch.set_default_dtype(before)


def record_step(network, x, loss, optimizer, steps=1, training=False):
    """The same, and the loss, the gradients and the weights before and after each step.

    loss: a function of what the model returns. training: whether batch norms use this batch in the
    steps, and move their running statistics; dropout then is on, too.
    """
    network = _bare(network)
    found = record(network, x)
    network.train(training)
    weights = [(name, p) for name, p in network.named_parameters() if p.requires_grad]
    moving = weights + [
        (name, b) for name, b in network.named_buffers() if name.endswith(("_mean", "_var"))
    ]
    found.update(("step0 " + name, _array(p)) for name, p in moving)
    groups = getattr(optimizer, "param_groups", None) or [{"params": [p for _, p in weights]}]
    moved = {id(p) for group in groups for p in group["params"]}
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        for _, p in weights:
            if id(p) not in moved:  # else its gradients would add up
                p.grad = None
        arguments, named = _arguments(network, x)
        with full_precision(), _backward_of_rnns(network, training):
            value = loss(network(*arguments, **named))
            value.backward()
        found["loss%d" % step] = _array(value)
        found.update(
            ("grad%d %s" % (step, name), _array(p.grad))
            for name, p in weights
            if p.grad is not None
        )
        optimizer.step()
        found.update(("step%d %s" % (step, name), _array(p)) for name, p in moving)
    return found


class _CastsToFloat64(torch.overrides.TorchFunctionMode):
    """The network's own casts to float32, such as a norm's, would keep float32's error."""

    def __torch_function__(self, function, types, arguments=(), named=None):
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        arguments = [torch.float64 if a is torch.float32 else a for a in arguments]
        named = {k: torch.float64 if a is torch.float32 else a for k, a in (named or {}).items()}
        return function(*arguments, **named)


def _bare(network):
    """The network inside ``torch.compile`` and data parallelism; TypeError if it is scripted."""
    network = getattr(network, "_orig_mod", network)
    parallel = (nn.DataParallel, nn.parallel.DistributedDataParallel)
    network = network.module if isinstance(network, parallel) else network
    if isinstance(network, torch.jit.ScriptModule):
        raise TypeError("a scripted network calls no hooks: record the one that was scripted")
    return network


def _passed(network, x):
    """What a pass records."""
    arguments, named = _arguments(network, x)
    found = _inputs(x)

    def keep(name):
        def hook(module, inputs, output):
            for part, tensor in _tensors(output) if name else _parts(output):
                array = _array(tensor)
                if not array.size:  # such as the boxes where nothing was detected
                    continue
                if not name and any(np.array_equal(array, known) for known in found.values()):
                    continue
                first = full = (name or "output") + part
                call = 2  # of a module that is used more than once
                while full in found:
                    full, call = "%s, call %d" % (first, call), call + 1
                found[full] = array

        return hook

    hooks = [
        module.register_forward_hook(keep(name))
        for name, module in network.named_modules()
        if not name or type(module).forward is not nn.Sequential.forward
    ]
    try:
        with _uncompiled(), _no_fast_path(), full_precision():
            network(*arguments, **named)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _inputs(x):
    """Copies of the inputs under their names: a network may write over what it is given."""
    if isinstance(x, Mapping):
        return OrderedDict((name, _copy(array)) for name, array in x.items())
    if isinstance(x, (tuple, list)):
        return OrderedDict(("x%d" % n, _copy(array)) for n, array in enumerate(x))
    return OrderedDict(x=_copy(x))


def _copy(array):
    return _array(array) if isinstance(array, torch.Tensor) else np.array(array)


def _arguments(network, x):
    """(arguments, keyword arguments) as tensors, floats in the type of the model's weights."""
    weight = next((p for p in network.parameters() if p.is_floating_point()), torch.zeros(()))

    def tensor(array):
        made = torch.as_tensor(array).detach().to(weight.device, copy=True)
        return made.to(weight.dtype) if made.is_floating_point() else made

    if isinstance(x, Mapping):
        return (), {name: tensor(array) for name, array in x.items()}
    return tuple(tensor(array) for array in (x if isinstance(x, (tuple, list)) else [x])), {}


def _tensors(output):
    """Yield (ending of its name, tensor) of a result: of a tuple the first one, and its like.

    Such are the streams of an image and of a text; an LSTM's state is none.
    """
    output = _padded(output)
    if isinstance(output, torch.Tensor):
        yield "", output
    elif isinstance(output, Mapping):
        yield from (
            ("." + key, value) for key, value in output.items() if isinstance(value, torch.Tensor)
        )
    elif isinstance(output, (tuple, list)):
        first, *others = [part for part in output if part is not None] or [None]
        yield from _tensors(first)
        if isinstance(first, torch.Tensor):
            streams = (x for x in others if isinstance(x, torch.Tensor) and _alike(first, x))
            yield from ((", result %d" % n, x) for n, x in enumerate(streams, 2))


def _parts(output):
    """Yield (ending of its name, tensor) of all tensors that the network returns."""
    output = _padded(output)
    if isinstance(output, torch.Tensor):
        yield "", output
    elif isinstance(output, Mapping):
        for key, value in output.items():
            yield from ((".%s%s" % (key, part), tensor) for part, tensor in _parts(value))
    elif isinstance(output, (tuple, list)):
        for n, value in enumerate(output, 1):
            start = ", result %d" % n if n > 1 else ""
            yield from ((start + part, tensor) for part, tensor in _parts(value))


def _padded(output):
    """A packed sequence as a tensor with a row per observation; all else as it is."""
    packed = isinstance(output, nn.utils.rnn.PackedSequence)
    return nn.utils.rnn.pad_packed_sequence(output, batch_first=True)[0] if packed else output


def _alike(a, b):
    """Whether two tensors have rows of equal width for each token of each observation."""
    return a.ndim == b.ndim > 2 and (a.shape[0], a.shape[-1]) == (b.shape[0], b.shape[-1])


def _array(tensor):
    """A copy as NumPy's; NumPy has no bfloat16."""
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy().copy()


def _uncompiled():
    """Compiled parts of the network call no hooks; PyTorch before 2.6 has no switch for them."""
    stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
    return stance("force_eager") if stance else contextlib.nullcontext()


@contextlib.contextmanager
def _no_fast_path():
    """Attention by its modules, so that hooks see them."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextlib.contextmanager
def _backward_of_rnns(network, training):
    """No cuDNN for recurrent layers that predict: it has no backward pass for them."""
    before = torch.backends.cudnn.enabled
    if not training and any(isinstance(module, nn.RNNBase) for module in network.modules()):
        torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = before


@contextlib.contextmanager
def full_precision():
    """No TF32: on a GPU, its error would be taken for float32's own."""
    switch, off = "fp32_precision", "ieee"
    places = [torch.backends.cuda.matmul]
    if hasattr(torch.backends.cudnn, "conv"):
        places += [torch.backends.cudnn.conv, torch.backends.cudnn.rnn]
    else:  # an older PyTorch
        switch, off = "allow_tf32", False
        places.append(torch.backends.cudnn)
    before = [getattr(place, switch) for place in places]
    for place in places:
        setattr(place, switch, off)
    try:
        yield
    finally:
        for place, value in zip(places, before):
            setattr(place, switch, value)
