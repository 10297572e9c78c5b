"""The NumPy reference is right, by numerical gradients, naive loops and manual calculation."""

import numpy as np
import pytest

from common.networks.cnn import CNN
from common.networks.hyperparameters import without_dropout
from common.proof import contract
from frameworks.numpy import bf16, cnn, strips
from frameworks.numpy import layers as blocks

HP = without_dropout(CNN.hp)
DOUBLE = dict(cnn.configure("same", 2, 7), precision="float64", chunk_images=2)

pytestmark = pytest.mark.skipif(blocks.xp is not np, reason="ARRAY_MODULE is not NumPy")


def random_weights(seed=3):
    """Xavier weights, and biases that are not 0."""
    random = np.random.RandomState(seed)
    weights = CNN.initialize(CNN.shapes, seed)
    for name, w in weights.items():
        if name.endswith(".bias"):
            w[:] = random.uniform(-0.1, 0.1, w.shape)
    return weights


def random_batch(n, seed=4):
    """Images without any symmetry."""
    random = np.random.RandomState(seed)
    images = random.random_sample((n, 3, 32, 32)).astype(np.float32)
    images *= np.linspace(0.2, 1, 32, dtype=np.float32)[:, None]
    return images, random.randint(0, 10, n)


def new_model(settings, hp=HP, weights=None):
    return cnn.loss(cnn.symbol(settings, hp), settings, hp, weights or random_weights())


def small_network():
    """A smaller network with the same kinds of layers in the same order, in float64."""
    network = [
        strips.ToStrip(DOUBLE),
        strips.ConvolutionReLU(DOUBLE, "conv1", 3, 4, side=8),
        strips.ConvolutionReLU(DOUBLE, "conv2", 4, 3, side=8, pool=True),
        strips.ConvolutionReLU(DOUBLE, "conv3", 3, 5, side=4),
        strips.ConvolutionReLU(DOUBLE, "conv4", 5, 4, side=4, pool=True),
        strips.FromStrip(DOUBLE, side=2),
        blocks.Dense(DOUBLE, "dense1"),
        blocks.ReLU(DOUBLE),
        blocks.Dense(DOUBLE, "dense2"),
    ]
    random = np.random.RandomState(0)
    for layer in network:
        if isinstance(layer, strips.ConvolutionReLU):
            shape = (layer.outputs, layer.inputs, 3, 3)
        elif layer.name:
            shape = {"dense1": (12, 16), "dense2": (10, 12)}[layer.name]
        else:
            continue
        bound = 2 / np.sqrt(np.prod(shape[1:]))
        layer.put(random.uniform(-bound, bound, shape), random.uniform(-0.1, 0.1, shape[0]))
    return network


def forward(layers, x, y):
    """The training loss of ``layers`` for input ``x``."""
    x = x.copy()  # some layers work in place
    for layer in layers:
        x = layer.forward(x, training=True)
    return blocks.cross_entropy(x, y)


def loss_and_gradients(layers, x, y):
    """A step of ``train`` without the update."""
    value, g = forward(layers, x, y)
    for layer in reversed(layers):
        g = layer.backward(g)
    return value


def sides_taken(layers):
    """The side of its kink on which each ReLU and each maximum was in the last forward pass."""
    sides = []
    for layer in layers:
        if isinstance(layer, (strips.ConvolutionReLU, blocks.ReLU)):
            sides.append((layer.out > 0).tobytes())
        if isinstance(layer, strips.ConvolutionReLU) and layer.pool:
            sides.append(
                np.argmax(strips.quarters(strips.pictures(layer.y, layer.side)), 0).tobytes()
            )
    return sides


def gradient_errors(layers, x, y, array, gradient, indices, step):
    """The relative errors of the entries at ``indices``; None if the step crosses a kink."""
    forward(layers, x, y)
    sides = sides_taken(layers)
    for index in indices:
        crossed = []

        def loss(crossed=crossed):
            value = forward(layers, x, y)[0]
            crossed.append(sides_taken(layers) != sides)
            return value

        expected = numerical(loss, array, index, step)
        # A gradient that is next to nothing is measured by the others of its array.
        scale = max(abs(expected), 0.01 * abs(gradient).max())
        yield None if any(crossed) else abs(gradient[index] - expected) / scale


def to_strip(layer, x):
    """NCHW images as a strip, in a buffer of ``layer``."""
    strip = layer.strip("test", len(x), x.shape[2], x.shape[1])
    strips.pictures(strip, x.shape[2])[:, :-1, :-1] = x.transpose(0, 2, 3, 1)
    return strip


def from_strip(strip, side):
    return strips.pictures(strip, side)[:, :-1, :-1].transpose(0, 3, 1, 2).copy()


def convolution(inputs, outputs, side, seed=5, **options):
    """A convolution with random weights, and these weights."""
    random = np.random.RandomState(seed)
    layer = strips.ConvolutionReLU(DOUBLE, "conv", inputs, outputs, side, **options)
    weight, bias = random.normal(size=(outputs, inputs, 3, 3)), random.normal(size=outputs)
    layer.put(weight, bias)
    return layer, weight, bias


def naive_convolution(x, weight, bias):
    """Cross-correlation with padding, and ReLU, one value at a time."""
    n, channels, height, width = x.shape
    out = np.zeros((n, len(weight), height, width))
    for i, o, row, column in np.ndindex(*out.shape):
        total = bias[o]
        for c, dy, dx in np.ndindex(channels, 3, 3):
            r, k = row + dy - 1, column + dx - 1
            if 0 <= r < height and 0 <= k < width:
                total += x[i, c, r, k] * weight[o, c, dy, dx]
        out[i, o, row, column] = max(total, 0)
    return out


def naive_pool(x):
    n, channels, height, width = x.shape
    return x.reshape(n, channels, height // 2, 2, width // 2, 2).max((3, 5))


def numerical(function, array, index, step):
    """The fourth-order central difference of ``function()`` for one entry of ``array``."""
    was, values = array[index], []
    for k in (-2, -1, 1, 2):
        array[index] = was + k * step
        values.append(function())
    array[index] = was
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)


def test_reference_keeps_the_contract():
    assert contract.problems(cnn, CNN.task) == []
    for lane in contract.LANES:
        assert contract.settings_problems(cnn.configure(lane, 2, 0)) == []


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("kind", ["weight", "bias"])
def test_gradient_of_every_parameter_is_the_numerical_one(number, kind):
    """Every entry of a bias and up to 60 of a weight, through all layers of a small network."""
    network, random = small_network(), np.random.RandomState(1)
    x, y = random.random_sample((3, 3, 8, 8)), np.array([3, 0, 7])
    loss_and_gradients(network, x, y)
    layer = [layer for layer in network if layer.name][number]
    which = ("weight", "bias").index(kind)
    w, gradient = layer.parameters[which], layer.gradients[which].copy()
    assert gradient.any()
    indices = [np.unravel_index(i, w.shape) for i in random.permutation(w.size)[:60]]
    errors = list(gradient_errors(network, x, y, w, gradient, indices, 1e-4))
    smooth = [error for error in errors if error is not None]
    print("%s.%s: %.1e of %d entries" % (layer.name, kind, max(smooth), len(smooth)))
    assert len(smooth) >= 0.5 * len(errors)
    assert max(smooth) < 1e-7


@pytest.mark.parametrize("number", range(6))
def test_gradients_of_the_real_network_are_the_numerical_ones(number):
    """For weight and bias, the entry with the largest gradient that is near no kink."""
    (x, y), network = random_batch(1), new_model(DOUBLE)[0]
    x = x.astype(np.float64)
    loss_and_gradients(network, x, y)
    layer = [layer for layer in network if layer.name][number]
    for w, gradient in zip(layer.parameters, layer.gradients):
        gradient = gradient.copy()
        first = np.argpartition(-abs(gradient), min(40, w.size - 1), axis=None)[:40]
        indices = [np.unravel_index(i, w.shape) for i in first]
        errors = gradient_errors(network, x, y, w, gradient, indices, 3e-6)
        error = next(error for error in errors if error is not None)
        print("%s %s: %.1e" % (layer.name, w.shape, error))
        assert error < 1e-7


@pytest.mark.parametrize("number", range(1, 9))
def test_gradient_of_every_layers_input_is_the_numerical_one(number):
    network, random = small_network(), np.random.RandomState(2)
    x, y = random.random_sample((2, 3, 8, 8)), np.array([5, 1])
    for layer in network[:number]:
        x = layer.forward(x, training=True)
    x = x.copy()
    g = forward(network[number:], x, y)[1]
    for layer in reversed(network[number:]):
        g = layer.backward(g)
    g, pixels = g.copy(), x
    if number <= 5:  # a strip, whose borders are no pixels and have no gradient
        side = network[number].side
        g, pixels = (strips.pictures(a, side)[:, :-1, :-1] for a in (g, pixels))
    assert g.any()
    indices = [np.unravel_index(i, g.shape) for i in random.permutation(g.size)[:60]]
    errors = list(gradient_errors(network[number:], x, y, pixels, g, indices, 1e-4))
    smooth = [error for error in errors if error is not None]
    print("input %d: %.1e of %d entries" % (number, max(smooth), len(smooth)))
    assert len(smooth) >= 0.5 * len(errors)
    assert max(smooth) < 1e-7


def test_the_first_convolution_spends_nothing_on_the_gradient_of_the_images():
    network = new_model(DOUBLE)[0]
    assert [layer.input_gradient for layer in network[1:6] if layer.name] == [False] + [True] * 3
    loss_and_gradients(network, *random_batch(1))
    assert "dx" not in network[1].buffers and "dx" in network[2].buffers


@pytest.mark.parametrize("n", [1, 2, 5])  # of chunks of 2
@pytest.mark.parametrize("pool", [False, True])
def test_convolution_is_the_naive_loop(n, pool):
    layer, weight, bias = convolution(2, 3, 6, pool=pool)
    x = np.random.RandomState(6).normal(size=(n, 2, 6, 6))
    expected = naive_convolution(x, weight, bias)
    if pool:
        expected = naive_pool(expected)
    out = from_strip(layer.forward(to_strip(layer, x), True), 3 if pool else 6)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("pool", [False, True])
def test_convolution_gradients_are_the_numerical_ones_everywhere(pool):
    """Every entry of weight, bias and input, with numbers from the naive loop."""
    layer, weight, bias = convolution(2, 2, 4, pool=pool)
    random = np.random.RandomState(8)
    x = random.normal(size=(3, 2, 4, 4))
    side = 2 if pool else 4
    upper = random.normal(size=(3, 2, side, side))

    def total():
        out = naive_convolution(x, weight, bias)
        return ((naive_pool(out) if pool else out) * upper).sum()

    layer.forward(to_strip(layer, x), True)
    holder = strips.StripLayer(DOUBLE)
    dx = from_strip(layer.backward(to_strip(holder, upper)), 4)
    dw = layer.gradients[0].reshape(3, 3, 2, 2).T
    for array, gradient in ((weight, dw), (bias, layer.gradients[1]), (x, dx)):
        for index in np.ndindex(*array.shape):
            expected = numerical(total, array, index, 1e-4)
            assert abs(gradient[index] - expected) < 1e-7 * abs(gradient).max()


def test_the_kernel_is_not_flipped_nor_transposed():
    """A kernel with a single 1 shifts the image; up, down, left and right all differ."""
    x = np.random.RandomState(1).random_sample((1, 1, 4, 4))
    for row, column in np.ndindex(3, 3):
        weight = np.zeros((1, 1, 3, 3))
        weight[0, 0, row, column] = 1
        layer = strips.ConvolutionReLU(DOUBLE, "conv", 1, 1, 4)
        layer.put(weight, np.zeros(1))
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), "constant")
        out = from_strip(layer.forward(to_strip(layer, x), True), 4)
        assert np.array_equal(out, padded[:, :, row : row + 4, column : column + 4])


def test_of_equal_maxima_the_first_gets_all_of_the_gradient():
    windows = [  # in row-major order, and who gets the gradient
        ([5, 5, 5, 5], 0),
        ([1, 5, 5, 5], 1),
        ([1, 2, 5, 5], 2),
        ([5, 1, 5, 1], 0),
        ([1, 5, 1, 5], 1),
        ([1, 2, 3, 5], 3),
        ([0, 0, 0, 0], 0),
        ([-1, -1, -2, -1], 0),
    ]
    for values, first in windows:
        y, dy = np.zeros((1, 3, 3, 1)), np.full((1, 3, 3, 1), 9.0)
        y[0, :2, :2, 0] = np.reshape(values, (2, 2))
        g = np.full((1, 2, 2, 1), 7.0)
        strips.unpool(g, y, dy, "one")
        expected = [7.0 if k == first else 0.0 for k in range(4)]
        assert dy[0, :2, :2, 0].ravel().tolist() == expected


def test_a_tie_at_zero_has_no_gradient_through_relu_whatever_pooling_says():
    layer = strips.ConvolutionReLU(DOUBLE, "conv", 1, 1, 4, pool=True)
    layer.put(np.zeros((1, 1, 3, 3)), np.zeros(1))
    layer.forward(to_strip(layer, np.ones((1, 1, 4, 4))), True)
    dx = layer.backward(to_strip(strips.StripLayer(DOUBLE), np.ones((1, 1, 2, 2))))
    assert not layer.gradients[0].any() and not layer.gradients[1].any() and not dx.any()


def test_cross_entropy_is_the_definition_and_does_not_overflow():
    scores, labels = np.random.RandomState(2).normal(size=(5, 10)), np.array([0, 9, 3, 3, 7])
    value, g = blocks.cross_entropy(scores, labels)
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert value == pytest.approx(-np.log(probabilities[range(5), labels]).mean(), rel=1e-14)
    np.testing.assert_allclose(g, (probabilities - np.eye(10)[labels]) / 5, atol=1e-16)
    value, g = blocks.cross_entropy(scores + 1e4 * np.eye(10)[labels], labels)
    assert value == 0 and np.isfinite(g).all()


def test_momentum_is_classical_over_three_steps():
    """By hand: v = 0.9 v - 0.01 g and w = w + v, with g from a model that is never updated."""
    batches = [random_batch(4, seed) for seed in (1, 2, 3)]
    batches = [(x.astype(np.float64), y) for x, y in batches]
    model, oracle = new_model(DOUBLE), new_model(DOUBLE)
    layers = [layer for layer in oracle[0] if layer.name]
    steps = cnn.train(model, batches)
    velocities = [[0.0, 0.0] for _ in layers]
    for x, y in batches:
        expected_loss = loss_and_gradients(oracle[0], x, y)
        for layer, v in zip(layers, velocities):
            for k in (0, 1):
                v[k] = 0.9 * v[k] - 0.01 * layer.gradients[k]
                layer.parameters[k][:] = layer.parameters[k] + v[k]
        assert float(next(steps)) == pytest.approx(expected_loss, rel=1e-13)
        theirs = cnn.weights(oracle)
        for name, w in cnn.weights(model).items():
            np.testing.assert_allclose(w, theirs[name], rtol=0, atol=1e-14, err_msg=name)


def test_predict_scores_every_row_of_the_last_partial_batch_too():
    settings = cnn.configure("same", 2, 0)
    model = new_model(settings)
    x, _ = random_batch(67)
    scores = cnn.predict(model, x)
    assert scores.shape == (67, 10) and scores.dtype == np.float32
    for row in (0, 63, 64, 66):
        alone = cnn.predict(model, x[row : row + 1])
        np.testing.assert_allclose(scores[row], alone[0], rtol=0, atol=2e-6)


def test_predict_drops_nothing_and_does_not_disturb_training():
    x, y = random_batch(4)
    batch = [(x.astype(np.float64), y)]
    dropping, not_dropping = new_model(DOUBLE, CNN.hp), new_model(DOUBLE)
    assert np.array_equal(cnn.predict(dropping, x), cnn.predict(not_dropping, x))
    again = new_model(DOUBLE, CNN.hp)
    first, second = next(cnn.train(dropping, batch)), next(cnn.train(again, batch))
    assert first == second  # only the seed decides the masks


@pytest.mark.parametrize("rate", [0.25, 0.5])
def test_dropout_keeps_its_fraction_and_its_mean(rate):
    layer = blocks.Dropout(DOUBLE, rate, np.random.RandomState(0))
    out = layer.forward(np.ones((400, 500)), training=True)
    kept = out != 0
    assert abs(kept.mean() - (1 - rate)) < 5 * np.sqrt(rate * (1 - rate) / out.size)
    assert np.array_equal(out[kept], np.full(kept.sum(), 1 / (1 - rate)))
    assert np.array_equal(layer.backward(np.ones((400, 500))), out)
    fresh = layer.forward(np.ones((400, 500)), training=True)
    assert not np.array_equal(fresh != 0, kept)


def test_dropout_of_rate_zero_draws_nothing():
    random = np.random.RandomState(0)
    layer = blocks.Dropout(DOUBLE, 0.0, random)
    assert np.array_equal(layer.forward(np.ones((3, 3)), training=True), np.ones((3, 3)))
    assert random.random_sample() == np.random.RandomState(0).random_sample()


def test_weights_come_out_as_they_went_in():
    initial = random_weights()
    for precision in ("float32", "float64"):
        settings = dict(cnn.configure("same", 2, 0), precision=precision)
        arrays = cnn.weights(new_model(settings, weights=initial))
        assert sorted(arrays) == sorted(initial)
        for name, w in arrays.items():
            assert w.dtype == precision and w.flags.c_contiguous
            assert np.array_equal(w, initial[name])


def test_a_model_does_not_write_into_the_weights_or_images_it_was_given():
    initial, (x, y) = random_weights(), random_batch(2)
    settings = cnn.configure("same", 2, 0)
    model = new_model(settings, CNN.hp, initial)
    images = x.copy()
    list(cnn.train(model, [(x, y)]))
    assert np.array_equal(x, images)
    for name, w in random_weights().items():
        assert np.array_equal(w, initial[name])


def test_float32_agrees_with_float64():
    batch, results = random_batch(8), {}
    for precision in ("float32", "float64"):
        settings = dict(cnn.configure("same", 2, 0), precision=precision)
        model = new_model(settings)
        x, y = cnn.load(batch[0], batch[1], settings)
        losses = [float(value) for value in cnn.train(model, [(x, y)] * 3)]
        results[precision] = losses, cnn.weights(model), cnn.predict(model, x)
        assert results[precision][2].dtype == precision
    single, double = results["float32"], results["float64"]
    np.testing.assert_allclose(single[0], double[0], rtol=1e-5)
    np.testing.assert_allclose(single[2], double[2], rtol=0, atol=2e-5)
    for name, w in single[1].items():
        np.testing.assert_allclose(w, double[1][name], rtol=0, atol=1e-5, err_msg=name)


def test_the_number_of_images_in_a_chunk_and_of_shares_changes_nothing():
    x, y = random_batch(5)
    x, found = x.astype(np.float64), []
    for chunk, shares in ((1, 1), (3, 1), (64, 1), (1, 2), (64, 3), (2, 8)):
        model = new_model(dict(DOUBLE, chunk_images=chunk, shares=shares))
        value = next(cnn.train(model, [(x, y)]))
        found.append((float(value), cnn.weights(model)))
    for value, weights in found[1:]:
        assert value == pytest.approx(found[0][0], rel=1e-13)
        for name, w in weights.items():
            np.testing.assert_allclose(w, found[0][1][name], rtol=0, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_bfloat16_has_eight_bits_and_a_tie_goes_to_the_even_one(precision):
    tiny = 2.0**-8  # half of the spacing at 1
    given = [1 + tiny, 1 + 3 * tiny, 1 + 1.01 * tiny, -1 - 3 * tiny, 3.14159, 0, 255.6, 1e-30]
    right = [1, 1 + 4 * tiny, 1 + 2 * tiny, -1 - 4 * tiny, 3.140625, 0, 256, 1.0023e-30]
    found = bf16.rounded(np.array(given, precision))
    assert found.dtype == precision
    assert np.allclose(found[:-1], right[:-1], 0, 0) and np.isclose(found[-1], right[-1], 1e-4)
    assert np.array_equal(bf16.rounded(found), found)


def test_a_network_of_single_layers_gives_what_the_fused_one_gives():
    weights, (x, y) = random_weights(), random_batch(4)
    fused = cnn.symbol(DOUBLE, HP)
    single = list(strips.unfused(DOUBLE, cnn.symbol(DOUBLE, HP)))
    found = []
    for network in (fused, single):
        model = cnn.loss(network, DOUBLE, HP, weights)
        found.append((list(cnn.train(model, [(np.float64(x), y)])), cnn.weights(model)))
    (losses, ours), (others, theirs) = found
    assert np.allclose(losses, others, 1e-12, 0)
    for name in ours:
        assert np.allclose(ours[name], theirs[name], 1e-9, 1e-15), name


def test_mixed_precision_rounds_products_and_keeps_weights_and_updates():
    mixed = bf16.functions(cnn)
    settings = dict(mixed["configure"]("same", 1, 0), precision="float64")
    weights, (x, y) = random_weights(), random_batch(4)
    network = mixed["symbol"](settings, HP)
    model = cnn.loss(network, settings, HP, weights)
    out = np.float64(x)
    for layer in network:
        out = layer.forward(out, training=True)
        if isinstance(layer, bf16.Rounded):
            assert np.array_equal(bf16.rounded(out), out), layer.name
    given = []  # to the layers inside

    def recorded(backward):
        return lambda g: given.append(g) or backward(g)

    for layer in network:
        if isinstance(layer, bf16.Rounded):
            layer.layer.backward = recorded(layer.layer.backward)
    g = np.random.RandomState(0).standard_normal(out.shape)
    for layer in reversed(network):
        g = layer.backward(g)
        if isinstance(layer, bf16.Rounded) and g is not None:
            assert np.array_equal(bf16.rounded(g), g), layer.name
    assert len(given) == 6 and all(np.array_equal(bf16.rounded(g), g) for g in given)
    list(cnn.train(model, [(np.float64(x), y)]))
    for name, w in cnn.weights(model).items():
        moved = (weights[name] - w) / HP.learning_rate
        assert not np.array_equal(bf16.rounded(w), w), name
        assert np.allclose(bf16.rounded(moved), moved, 1e-9, 1e-12), name
