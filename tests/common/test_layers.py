"""The reference's general layers are right: by numerical gradients and naive loops, in float64."""

import numpy as np
import pytest

from frameworks.numpy import layers as blocks
from frameworks.numpy import pools

SETTINGS = {"precision": "float64", "ties": "one"}
pytestmark = pytest.mark.skipif(blocks.xp is not np, reason="ARRAY_MODULE is not NumPy")


def filled(layer, *shape, seed=1):
    """``layer`` with random weights of this shape, and biases."""
    random = np.random.RandomState(seed)
    weights = [random.normal(size=shape), random.normal(size=shape[0])]
    layer.put(*weights[: len(layer.kinds)])
    return layer


def convolution(padding=0, stride=1):
    layer = blocks.Convolution(SETTINGS, "conv", padding=padding, stride=stride)
    return filled(layer, 4, 3, 3, 2)


LAYERS = {
    "convolution": convolution,
    "padding": lambda: convolution(padding=2),
    "stride": lambda: convolution(stride=2),
    "padding and stride": lambda: convolution(padding=1, stride=3),
    "pool": lambda: blocks.MaxPool(SETTINGS),
    "pool, overlapping": lambda: blocks.MaxPool(SETTINGS, size=3, stride=2),
    "sigmoid": lambda: blocks.Sigmoid(SETTINGS),
    "batch norm": lambda: batch_norm(),
    "residual": lambda: residual(shortcut=False),
    "residual, shortcut": lambda: residual(shortcut=True),
    "global mean": lambda: blocks.GlobalMean(SETTINGS),
    "relu": lambda: blocks.ReLU(SETTINGS),
    "flatten": lambda: blocks.Flatten(SETTINGS),
}


def batch_norm(**settings):
    layer = blocks.BatchNorm(
        dict(SETTINGS, running_variance="unbiased", variance="differences", **settings), "norm"
    )
    random = np.random.RandomState(5)
    layer.put(*(random.uniform(0.5, 1.5, 3) for _ in layer.kinds))
    return layer


def response_norm():
    layer = blocks.LocalResponseNorm(SETTINGS)
    layer.alpha = 0.2  # AlexNet's is too small to show
    return layer


def residual(shortcut):
    def layer(name):
        return filled(blocks.Convolution(SETTINGS, name, bias=False), 3, 3, 1, 1)

    body = [layer("conv1"), blocks.ReLU(SETTINGS), layer("conv2")]
    return blocks.Residual(SETTINGS, body, [layer("conv3")] if shortcut else [])


def images(seed=2):
    """No two pixels are equal, and none is 0: a small step crosses no kink."""
    order = np.random.RandomState(seed).permutation(2 * 3 * 8 * 7)
    return (order.reshape(2, 3, 8, 7) - 167.5) / 100


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_the_numerical_ones(name):
    """Of every input, weight and bias, for a loss that weighs each output differently."""
    check_gradients(LAYERS[name](), images())


def check_gradients(layer, x):
    upper = np.random.RandomState(3).normal(size=layer.forward(x, True).shape)
    dx = layer.backward(upper.copy())
    checked = [(x, dx)] + list(zip(layer.parameters, layer.gradients))
    for array, gradient in checked:
        for index in np.ndindex(*array.shape):
            was, values = array[index], []
            for step in (-1e-4, 1e-4):
                array[index] = was + step
                values.append((layer.forward(x, True) * upper).sum())
            array[index] = was
            expected = (values[1] - values[0]) / 2e-4
            assert abs(gradient[index] - expected) < 1e-6 * max(1, abs(gradient).max())


@pytest.mark.parametrize("padding, stride", [(0, 1), (2, 1), (0, 2), (1, 3)])
def test_convolution_is_the_naive_loop(padding, stride):
    layer, x = convolution(padding, stride), images()
    weight, bias = layer.parameters
    out = layer.forward(x, True)
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)), "constant")
    height, width = (padded.shape[2] - 3) // stride + 1, (padded.shape[3] - 2) // stride + 1
    assert out.shape == (2, 4, height, width)
    for n, o, row, column in np.ndindex(*out.shape):
        r, c = row * stride, column * stride
        window = padded[n, :, r : r + 3, c : c + 2]
        assert out[n, o, row, column] == pytest.approx((window * weight[o]).sum() + bias[o])


def test_a_tie_goes_to_the_first_of_a_window_or_to_all_or_is_shared():
    x, g = np.float32([[[[1, 1], [0, 1]]]]), np.full((1, 1, 1, 1), 6, np.float32)
    for ties, expected in (("one", [6, 0, 0, 0]), ("all", [6, 6, 0, 6]), ("shared", [2, 2, 0, 2])):
        layer = blocks.MaxPool(dict(SETTINGS, ties=ties))
        layer.forward(x, True)
        gradient = layer.backward(g)
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient.ravel(), expected, rtol=1e-7)


@pytest.mark.parametrize("made", [pools.Looped, pools.Indexed, pools.Put, pools.Masked])
def test_a_pool_is_the_same_however_its_backward_pass_is_written(made):
    x = np.random.RandomState(4).randint(0, 5, (2, 3, 8, 6)).astype(float)  # ties, too
    right, layer = blocks.MaxPool(SETTINGS), made(SETTINGS)
    out = right.forward(x, True)
    assert np.array_equal(layer.forward(x, True), out)
    g = np.random.RandomState(5).normal(size=out.shape)
    assert np.array_equal(layer.backward(g), right.backward(g))


def test_a_sigmoid_does_not_overflow():
    out = blocks.Sigmoid(SETTINGS).forward(np.array([[-1e4, 0.0, 1e4]]), True)
    assert out.tolist() == [[0.0, 0.5, 1.0]]


def test_kinks_are_where_the_gradient_jumps():
    ((values, distances),) = blocks.ReLU(SETTINGS).kinks(np.array([[-3.0, 0.5]]), True)
    assert distances.tolist() == [[3.0, 0.5]]
    x = np.array([[[[1.0, 4.0], [3.5, 4.0]]]])  # two are equal: the next lower one is 0.5 away
    ((values, distances),) = blocks.MaxPool(SETTINGS).kinks(x, True)
    assert values.ravel().tolist() == [4.0] and distances.ravel().tolist() == [0.5]


def lstm(chunk):
    layer, random = blocks.LSTM(SETTINGS, "lstm", chunk), np.random.RandomState(1)
    layer.put(*(random.normal(size=shape) for shape in ((12, 2), (12, 3), (12,))))
    return layer


def sequences():
    return np.random.RandomState(2).normal(size=(4, 6, 2))


def test_gradients_of_an_lstm_are_the_numerical_ones_in_one_chunk():
    check_gradients(lstm(chunk=6), sequences())


def test_a_truncated_gradient_is_that_of_chunks_whose_first_state_is_given():
    whole, x = lstm(chunk=2), sequences()
    upper = np.random.RandomState(3).normal(size=whole.forward(x, True).shape)
    dx = whole.backward(upper)
    part, state, sums = lstm(chunk=6), None, [0, 0, 0]
    for first in (0, 2, 4):
        steps = slice(first, first + 2)
        part.forward(x[:, steps], True, state)
        state = part.state
        np.testing.assert_allclose(part.backward(upper[:, steps]), dx[:, steps], atol=1e-12)
        sums = [total + gradient for total, gradient in zip(sums, part.gradients)]
    for total, gradient in zip(sums, whole.gradients):
        np.testing.assert_allclose(total, gradient, atol=1e-12)


def test_dense_takes_sequences():
    check_gradients(filled(blocks.Dense(SETTINGS, "dense"), 3, 2), sequences())


def test_squared_error_is_the_definition():
    values, targets = np.random.RandomState(4).normal(size=(2, 3, 4, 1))
    value, g = blocks.squared_error(values, targets)
    assert value == pytest.approx(((values - targets) ** 2).sum() / 12)
    np.testing.assert_allclose(g, 2 * (values - targets) / 12)


def test_batch_norm_keeps_a_tenth_of_each_batch_and_predicts_by_what_it_kept():
    x, n = images(), 2 * 8 * 7
    for kind, divisor in (("unbiased", n - 1), ("biased", n), ("unbiased halves", n - 2)):
        layer = batch_norm()
        layer.settings["running_variance"] = kind
        before = [w.copy() for w in layer.running]
        out = layer.forward(x, training=True)
        weight, bias = layer.parameters
        np.testing.assert_allclose(out.mean((0, 2, 3)), bias, atol=1e-12)
        np.testing.assert_allclose(out.std((0, 2, 3)), weight, rtol=1e-5)
        mean = x.mean((0, 2, 3))
        variance = ((x - mean[:, None, None]) ** 2).sum((0, 2, 3)) / divisor
        for old, new, kept in zip(before, (mean, variance), layer.running):
            np.testing.assert_allclose(kept, 0.9 * old + 0.1 * new, rtol=1e-12)
        mean, variance = (w[:, None, None] for w in layer.running)
        expected = (x - mean) / np.sqrt(variance + 1e-5) * weight[:, None, None]
        out = layer.forward(x, training=False)
        np.testing.assert_allclose(out, expected + bias[:, None, None], atol=1e-12)


def test_gradients_of_a_local_response_norm_are_the_numerical_ones():
    check_gradients(response_norm(), np.random.RandomState(7).normal(size=(2, 8, 3, 2)))


def test_local_response_norm_sums_the_squares_of_five_channels():
    x = np.random.RandomState(6).normal(size=(2, 8, 3, 2))
    out = response_norm().forward(x, True)
    for n, c, row, column in np.ndindex(*x.shape):
        near = x[n, max(c - 2, 0) : c + 3, row, column]
        expected = x[n, c, row, column] / (2 + 0.2 * (near**2).sum()) ** 0.75
        assert out[n, c, row, column] == pytest.approx(expected)


def test_joint_error_is_the_mean_squared_distance_of_visible_joints():
    outputs = np.array([[1.0, 2.0, 5.0, 5.0], [0.0, 0.0, 3.0, 4.0]])
    targets = np.array([[[0.0, 0, 1], [-1, -1, 0]], [[-1, -1, 0], [0, 0, 1]]])
    value, g = blocks.joint_error(outputs, targets)
    assert value == (1 + 4 + 9 + 16) / 2
    assert g.tolist() == [[1, 2, 0, 0], [0, 0, 3, 4]]
