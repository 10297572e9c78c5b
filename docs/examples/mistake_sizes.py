"""How large common porting mistakes are: the figures of docs/porting-mistakes.md.

    tox exec -e pytorch -- python docs/examples/mistake_sizes.py

A figure is the root mean square of the error, relative to that of the right result, on normally
distributed inputs; a few are said to be something else.
"""

from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F

attention = F.scaled_dot_product_attention


def off(wrong, right):
    """Root mean square of the error, relative to that of the right result."""
    wrong, right = wrong.double(), right.double()
    return float(((wrong - right).square().mean() / right.square().mean()).sqrt())


def gelu():
    """The tanh approximation, and the one with a sigmoid, for the exact GELU."""
    z, line = torch.randn(10**6).double(), torch.linspace(-6, 6, 10001).double()
    return {
        "largest error of an element": float(
            (F.gelu(line, approximate="tanh") - F.gelu(line)).abs().max()
        ),
        "tanh": off(F.gelu(z, approximate="tanh"), F.gelu(z)),
        "sigmoid": off(z * torch.sigmoid(1.702 * z), F.gelu(z)),
    }


def layer_norm():
    """An epsilon of 1e-3 for 1e-5, for inputs of different spreads."""
    z = torch.randn(1000, 768).double()
    return {
        "inputs of spread %g" % spread: off(
            F.layer_norm(z * spread, (768,), eps=1e-3), F.layer_norm(z * spread, (768,), eps=1e-5)
        )
        for spread in (1, 0.1, 0.02)
    }


def rms_norm():
    """w for 1 + w; and the cast to bfloat16 before the product with the weight, not after it."""
    x, w = torch.randn(1000, 768), torch.randn(768)
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    weight = 1 + 0.1 * w
    return {
        "1 + w forgotten": off(x * 0.3 * w, x * (1 + 0.3 * w)),
        "cast": off(x.bfloat16() * weight.bfloat16(), (x * weight).bfloat16()),
    }


def heads(x):
    """{layout: (q, k, v)} of a fused product (tokens, 3 * 8 * 64)."""
    return {
        "blocks": x.view(-1, 3, 8, 64).permute(1, 2, 0, 3),
        "per head": x.view(-1, 8, 3, 64).permute(2, 1, 0, 3),
    }


def fused_qkv():
    """Columns per head read as blocks."""
    made = heads(torch.randn(64, 512) @ torch.randn(512, 3 * 512) / 512**0.5)
    right, wrong = (attention(*made[kind], is_causal=True) for kind in ("per head", "blocks"))
    return {"blocks for per head": off(wrong, right)}


def modulation():
    """Scale and shift exchanged; and x * scale for x * (1 + scale)."""
    x, scale, shift = torch.randn(3, 10**6).double()
    right = x * (1 + scale) + shift
    return {
        "exchanged": off(x * (1 + shift) + scale, right),
        "1 + forgotten": off(x * scale + shift, right),
    }


def attend(q, k, v, **options):
    """Causal attention, unless a mask is given."""
    return attention(q, k, v, is_causal="attn_mask" not in options, **options)


def grouped():
    """Two key heads for eight query heads, tiled and not repeated."""
    q, k, v = torch.randn(8, 128, 64), torch.randn(2, 128, 64), torch.randn(2, 128, 64)
    right = attend(q, k.repeat_interleave(4, 0), v.repeat_interleave(4, 0))
    return {"tiled": off(attend(q, k.repeat(4, 1, 1), v.repeat(4, 1, 1)), right)}


def scale():
    """The scale missing, and applied twice."""
    q, k, v = torch.randn(3, 8, 128, 64)
    right, missing = attend(q, k, v), attend(q, k, v, scale=1.0)
    return {
        "missing": off(missing, right),
        "cosine, missing": float(F.cosine_similarity(missing.flatten(), right.flatten(), 0)),
        "twice": off(attend(q, k, v, scale=1 / 64), right),
    }


def windows():
    """A window of 65 for 64; and a mask of the last four queries that forgets the cache."""
    q, k, v = torch.randn(3, 4, 256, 64)
    place = torch.arange(256)

    def within(width):
        distance = place[:, None] - place
        return attend(q, k, v, attn_mask=(distance >= 0) & (distance < width))

    last = [
        attend(q[:, -4:], k, v, attn_mask=torch.tril(torch.ones(4, 256).bool(), diagonal))
        for diagonal in (0, 252)
    ]
    return {"window": off(within(65), within(64)), "cached": off(*last)}


def rotated(x, base=10000.0, interleaved=False, dtype=torch.double):
    """Rotary positions, with angles made in ``dtype``."""
    tokens, d = x.shape
    frequencies = (base ** (-torch.arange(0, d, 2).double() / d)).to(dtype)
    angles = (torch.arange(tokens).to(dtype)[:, None] * frequencies).double()
    a, b = (x[:, ::2], x[:, 1::2]) if interleaved else x.chunk(2, 1)
    parts = a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()
    return torch.stack(parts, 2).flatten(1) if interleaved else torch.cat(parts, 1)


def rope():
    """Scores of queries and keys with rotary positions of another kind."""
    q, k = torch.randn(2, 2048, 64).double()

    def scores(**options):
        return rotated(q, **options) @ rotated(k, **options).T

    right, base, bfloat16 = scores(), scores(base=500000.0), scores(dtype=torch.bfloat16)
    apart = torch.arange(2048)[:, None] - torch.arange(2048)
    found = {"interleaved": off(scores(interleaved=True), right)}
    for low, high in ((1, 8), (9, 64), (65, 2047)):
        some = (apart >= low) & (apart <= high)
        found["base, %d to %d places apart" % (low, high)] = off(base[some], right[some])
    for end in (256, 2048):
        found["bfloat16, to position %d" % end] = off(bfloat16[:end, :end], right[:end, :end])
    return found


def sine():
    """Cosine first, and interleaved, for sine first."""
    angles = torch.arange(1000).double()[:, None] * 1e4 ** (-torch.arange(64).double() / 64)
    s, c = angles.sin(), angles.cos()
    right = torch.cat([s, c], 1)
    return {
        "swapped": off(torch.cat([c, s], 1), right),
        "interleaved": off(torch.stack([s, c], 2).flatten(1), right),
    }


def embedding():
    """The root of 3072, rounded to bfloat16."""
    root = torch.tensor(3072.0).sqrt()
    return {"rounded": off(root.bfloat16(), root)}


def router():
    """The sum of a random router's best 8 of 64 probabilities, which is not 1."""
    best, _ = torch.randn(10000, 64).softmax(1).topk(8)
    return {"sum": float(best.sum(1).mean())}


def adam():
    """The first step for a gradient of 1e-6, as a part of the learning rate."""
    g = 1e-6
    return {
        "1e-8": g / (g + 1e-8),
        "1e-7": g / (g + 1e-7),
        "1e-7, uncorrected": g / (g + 1e-7 / (1 - 0.999) ** 0.5),
        "1e-8, inside the root": g / (g**2 + 1e-8) ** 0.5,
    }


def tf32(x):
    """Rounded to the ten bits of TF32."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def products():
    """A product of rounded matrices."""
    a, b = torch.randn(256, 1024), torch.randn(1024, 256)
    right = a.double() @ b.double()
    return {
        "TF32": off(tf32(a) @ tf32(b), right),
        "bfloat16": off(a.bfloat16().float() @ b.bfloat16().float(), right),
    }


def softmax():
    """A softmax that returns bfloat16; and the error of its sum, where bfloat16 adds it up."""
    scores = (3 * torch.randn(100, 1024)).bfloat16()
    parts = (scores - scores.amax(1, keepdim=True)).exp()
    total = torch.zeros(100, dtype=torch.bfloat16)
    for n in range(1024):
        total = total + parts[:, n]
    return {
        "rounded": off(scores.softmax(1), scores.float().softmax(1)),
        "sum": off(total, parts.float().sum(1)),
    }


def same_padding():
    """A convolution of stride 2 that pads both sides, not the far one."""
    x, w = torch.randn(4, 8, 16, 16), torch.randn(4, 8, 3, 3)
    right = F.conv2d(F.pad(x, (0, 1, 0, 1)), w, stride=2)
    return {"both sides": off(F.conv2d(x, w, stride=2, padding=1), right)}


def resized():
    """An image with a photograph's spectrum, made smaller and larger."""
    noise = torch.fft.fft2(torch.randn(512, 512))
    frequency = torch.fft.fftfreq(512)
    radius = (frequency[:, None] ** 2 + frequency**2).sqrt()
    radius[0, 0] = float("inf")
    image = torch.fft.ifft2(noise / radius).real[None, None]

    def to(size, x=image, **options):
        return F.interpolate(x, size=size, mode="bilinear", **options)

    small = to(224)
    return {
        "antialias": off(small, to(224, antialias=True)),
        "corners": off(to(224, align_corners=True), small),
        "corners, enlarged": off(to(512, small, align_corners=True), to(512, small)),
    }


def transposed():
    """A transposed convolution with its kernel flipped."""
    x, w = torch.randn(4, 8, 16, 16), torch.randn(8, 4, 3, 3)
    flipped = F.conv_transpose2d(x, w.flip(2, 3), stride=2)
    return {"flipped": off(flipped, F.conv_transpose2d(x, w, stride=2))}


def changed(layer, x, change):
    """The error of a recurrent layer if ``change(name, array)`` is made in its weights."""
    right, weights = layer(x)[0].detach(), layer.state_dict()
    layer.load_state_dict({name: change(name, w).reshape(w.shape) for name, w in weights.items()})
    return off(layer(x)[0].detach(), right)


def lstm():
    """Gates exchanged, a bias lost, and 1 added to the forget gate."""
    forget = torch.cat([torch.zeros(32), torch.ones(32), torch.zeros(64)])
    changes = {
        "gates": lambda name, w: w.view(4, 32, -1)[[0, 1, 3, 2]],
        "bias lost": lambda name, w: 0 * w if name == "bias_hh_l0" else w,
        "forget gate": lambda name, w: w + forget if name == "bias_ih_l0" else w,
    }
    return {
        says: changed(nn.LSTM(16, 32), torch.randn(40, 8, 16), change)
        for says, change in changes.items()
    }


def reset_first(layer, x):
    """The last state of a GRU that resets the state before the product."""
    w, u, b, c = (parameter.detach() for parameter in layer.parameters())
    h = torch.zeros(x.shape[1], 32)
    for step in x:
        r, z = torch.sigmoid(step @ w[:64].T + b[:64] + h @ u[:64].T + c[:64]).chunk(2, 1)
        new = torch.tanh(step @ w[64:].T + b[64:] + (r * h) @ u[64:].T + c[64:])
        h = z * h + (1 - z) * new
    return h


def gru():
    """Reset in the other place; the first two gates exchanged."""
    layer, x = nn.GRU(16, 32), torch.randn(40, 8, 16)
    return {
        "reset": off(reset_first(layer, x), layer(x)[1][0].detach()),
        "gates": changed(layer, x, lambda name, w: w.view(3, 32, -1)[[1, 0, 2]]),
    }


# {anchor in docs/porting-mistakes.md: what measures it}
MEASURED = OrderedDict(
    [
        ("fused-qkv-order", fused_qkv),
        ("kv-heads-tiled-or-repeated", grouped),
        ("epsilon-of-layernorm-and-rmsnorm", layer_norm),
        ("rmsnorm-weight-and-cast", rms_norm),
        ("gelu-tanh-or-erf", gelu),
        ("rope-interleaved-or-half-split", lambda: only("interleaved", rope())),
        ("attention-scale", scale),
        ("rope-base-and-scaling", lambda: only("base", rope())),
        ("rope-angles-in-bfloat16", lambda: only("bfloat16", rope())),
        ("scale-and-shift", modulation),
        ("sine-and-cosine", sine),
        ("embedding-scale-and-its-rounding", embedding),
        ("causal-mask-and-cached-length", lambda: only("cached", windows())),
        ("sliding-window-off-by-one", lambda: only("window", windows())),
        ("router-softmax-and-top-k", router),
        ("epsilon-of-adam", adam),
        ("matrix-products-in-tf32-or-bfloat16", products),
        ("softmax-and-norms-in-bfloat16", softmax),
        ("same-padding-with-a-stride", same_padding),
        ("resize-antialias-and-corners", resized),
        ("transposed-convolution", transposed),
        ("lstm-gates-and-biases", lstm),
        ("gru-reset-before-or-after", gru),
    ]
)


def only(start, figures):
    """The figures whose names begin so."""
    return {name: value for name, value in figures.items() if name.startswith(start)}


def measured():
    """{anchor: {what: figure}}, the same in each call."""
    found = OrderedDict()
    for anchor, measure in MEASURED.items():
        torch.manual_seed(0)
        found[anchor] = measure()
    return found


if __name__ == "__main__":
    for place, sizes in measured().items():
        print(place)
        for what, size in sizes.items():
            print("    %-32s %.2g" % (what, size))
