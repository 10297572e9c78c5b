"""Challenges of the networks of texts: a right answer passes, and mistakes are named."""

import numpy as np
import pytest

from common.challenge import challenge, losses
from common.challenge.causes import transformer
from common.data.shakespeare import IGNORED
from common.mistakes import catalogue, planted
from common.networks.gpt import causes as gpt
from common.networks.gru import causes as gru
from common.networks.llama import causes as llama
from common.system import commands
from tests.challenge import small
from tests.challenge.planted import Patient
from tests.challenge.test_causes import check_gradient, check_loss

NETWORKS = ("gpt", "llama", "gru")


@pytest.fixture(scope="module", params=NETWORKS)
def network(request, tmp_path_factory):
    """(the folder of a challenge of a small network, its description)."""
    folder = str(tmp_path_factory.mktemp("challenge") / request.param)
    with small.known(request.param) as model:
        written = ["write", folder, "--model", model.name, "--threads", "1"]
        assert commands.guarded(challenge.command, written) == 0
        yield folder, model


@pytest.fixture(scope="module")
def patient(network):
    return Patient("numpy", network[0], 1)


def test_a_right_answer_passes_every_rung(network, tmp_path, capsys):
    folder, model = network
    answer = str(tmp_path / "right.npz")
    assert commands.guarded(challenge.command, ["answer", folder, "numpy", answer]) == 0
    assert commands.guarded(challenge.command, ["check", folder, answer]) == 0
    rungs = 8 if "attention" in model.traits else 7
    assert "%d of %d rungs proven" % (rungs, rungs) in capsys.readouterr().out


def test_the_page_says_what_to_compute(network):
    folder, model = network
    with open(folder + "/README.md") as file:
        page = file.read()
    transformer = "attention" in model.traits
    assert ('{"generate": X, "answer": A}' in page) == transformer
    assert ("step t = 1, 2, ... of a model" in page) == ("schedule" in model.traits)
    assert ("a target of -100 does not" in page) == ("ignored" in model.traits)
    assert "(n, 8)" in page and "ReLU" not in page and "{{" not in page


# {network: {mistake: a part of each cause that the diagnosis names}}
SAID = {
    "gpt": {
        "fused_product_by_head": "the fused product has the queries, keys and values of each head",
        "gelu_exact": "the activation is the exact GELU",
        "rate_one_step_late": "the schedule is one step late, and its first rate is 0",
        "cosine_ends_at_zero": "the cosine ends at 0, not at last_rate",
        "vectors_decayed": "all tensors decay",
        "head_not_tied": "the head is not tied",
        "positions_not_offset_by_the_cache": "positions of generated tokens begin at 0",
        "perplexity_for_the_loss": "evaluation: it is the perplexity",
    },
    "llama": {
        "base_of_llama_3": "the base of the rotation is 500000",
        "key_heads_tiled": "key and value heads are tiled",
        "ignored_targets_counted": "ignored targets are counted in the mean",
        "means_of_micro_batches": "the mean of 2 micro-batches' means",
        "cache_one_token_behind": "a generated token's scores are those of the token before it",
    },
    "gru": {
        "reset_before_the_product": "the reset gate acts before the recurrent product",
        "padding_index": "the row of padding is not trained",
        "rows_of_a_prediction_out_of_order": "the rows of a prediction are in another order",
    },
}


@pytest.mark.slow
def test_mistakes_are_named(network, patient):
    _, model = network
    mistakes = catalogue.mistakes(model) + planted.own("numpy", model.file)
    said = {}
    for mistake in mistakes:
        if mistake.name in SAID[model.file]:
            _, named, _ = patient.examined(mistake)
            said[mistake.name] = ["; or: ".join(causes) for causes in named]
    assert set(said) == set(SAID[model.file])
    wrong = {
        name: causes
        for name, causes in said.items()
        if not causes or not all(SAID[model.file][name] in cause for cause in causes)
    }
    assert wrong == {}


SETTINGS = {"precision": "float64"}


def attention(mixin, random):
    """A layer of grouped attention with a mixin, and the shape of its input."""
    kind = type("Made", (mixin, transformer.GroupedAttention), {})
    layer = kind(SETTINGS, "attention", 4, transformer.Past(), 2, rotary=True)
    shapes = ((16, 16), (8, 16), (8, 16), (16, 16))
    layer.put(*(random.normal(size=shape) for shape in shapes))
    return layer, (2, 5, 16)


def norm(mixin, kind, random):
    layer = type("Made", (mixin, kind), {})(SETTINGS, "norm")
    layer.put(*(random.normal(size=6) for _ in layer.kinds))
    return layer, (2, 3, 6)


def gate(function, slope, random):
    layer = llama.GatedBy(SETTINGS, "mlp")
    layer.function, layer.slope = function, slope
    layer.put(*(random.normal(size=shape) for shape in ((5, 4), (5, 4), (4, 5))))
    return layer, (2, 3, 4)


def recurrent(kind, random):
    layer = kind(SETTINGS, "gru")
    layer.put(*(random.normal(size=shape) for shape in ((9, 4), (9, 3), (9,), (9,))))
    layer.words = transformer.Embedding(SETTINGS, "words")
    layer.words.tokens = np.array([[0, 0, 1, 2], [0, 3, 1, 2]])
    return layer, (2, 4, 4)


MADE = {
    mixin.__name__: lambda random, mixin=mixin: attention(mixin, random)
    for mixin in (gpt.Unmasked, gpt.Strict, gpt.Inverted, gpt.Unscaled, gpt.ScaledByWidth)
    + (llama.Backwards, llama.Exchanged, llama.OneTooFew, llama.based(50.0))
}
MADE.update(
    {
        "epsilon": lambda random: norm(gpt.normalising(0.1), transformer.LayerNorm, random),
        "centred": lambda random: norm(llama.Centred, transformer.RMSNorm, random),
        "reset before": lambda random: recurrent(gru.ResetBefore, random),
        "padding skipped": lambda random: recurrent(gru.Skipping, random),
        "mean": lambda random: (gru.Mean(SETTINGS), (2, 3, 4)),
    }
)
MADE.update({says: lambda random, made=made: gate(*made, random) for says, *made in llama.GATES})
MADE.update(
    {
        "for GELU, " + says: lambda random, made=made: (gpt.Pointwise(SETTINGS, *made), (4, 5))
        for says, *made in gpt.GELUS
    }
)


@pytest.mark.parametrize("name", list(MADE))
def test_a_changed_layers_gradient_is_its_own(name):
    random = np.random.RandomState(0)
    check_gradient(*MADE[name](random), random)


CRITERIA = {
    "of probabilities": losses.of_probabilities,
    "transposed": losses.transposed,
    "over texts": losses.over_parts(),
    "over parts": losses.over_parts(2),
    "over all": losses.over_all,
}


@pytest.mark.parametrize("name", list(CRITERIA))
def test_a_changed_losss_gradient_is_its_own(name):
    random = np.random.RandomState(1)
    scores = random.normal(size=(3, 2, 3))
    targets = np.array([[0, 2], [1, IGNORED], [2, 0]])
    check_loss(CRITERIA[name](transformer.cross_entropy), scores, targets)
