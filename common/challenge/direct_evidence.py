"""Causes that show directly in an answer: in dropout's masks, the losses, the final figure.

A cause is named if it gives the answer's own numbers, which needs almost no training.
"""

import numpy as np

from common.challenge import conventions, protocol
from common.challenge.diagnosis import CAUSE, UNKNOWN, UNREAD, Finding, Reading
from common.compare.functions import log_softmax
from common.data.shakespeare import IGNORED
from common.networks.cnn import masks
from common.networks.model import CLASSES, TOKENS
from common.proof import tasks
from common.proof.check import PREDICTION, TOO_EXACT
from common.proof.dropout import SIGMAS, TIED, shared
from common.proof.oracle import PROBE_BATCH
from common.proof.reference import MULTIPLE, distance
from common.proof.rungs.subject import COUNTS

LOSS = "loss and its reduction"  # a concept of the phrase book
EXACT = 1e-6  # tolerance of a figure, and of a loss relative to it
SCALE = 2e-3  # relative tolerance of a mask's factor
UNREADABLE = "dropout, because %s; check it again after that is corrected"
SAME = 1e-5  # relative tolerance of scores: more than float32's rounding
HIGHEST = 104  # no loss of a probability in float32 is higher: -log(1.4e-45) is 103.3


class Quotation(Reading):
    """A reading that only repeats the rung's own message."""


def findings(challenge, arrays, answers, description, judged, before):
    """The ``Finding`` of each failed rung that can be read directly.

    judged: the certifier's verdict. before: findings by simulation. A wrong step changes the masks,
    and any mistake changes the losses: they are then not read. Another convention is no mistake:
    masks are read with it. Wrong scores change all losses.
    """
    caused = [finding for finding in before if finding.kind == CAUSE]
    mistakes = [finding for finding in caused if not finding.convention]
    followed = dict(finding.convention for finding in caused if finding.convention)
    challenge = dict(challenge, named=dict(challenge["named"], **followed))
    asked = challenge, arrays, answers, description, judged
    readers = {"data": _order, "accuracy": _figure}
    bounded = any(finding.bounds_loss for finding in caused)
    if not bounded and not any(finding.stage == "scores" for finding in before):
        readers.update(gradient=_clipped)
        bounded = bool(_clipped(*asked))
    if not mistakes:
        readers.update(trajectory=_losses)
    hidden = ""  # why the masks cannot be read
    if bounded:
        hidden = "a loss that is clipped hides the gradients that show the masks"
    elif any(finding.stage != "three steps" for finding in mistakes):
        hidden = "a mistake found above changes the gradients that show the masks"
    elif any(f.kind == UNKNOWN and f.stage in ("scores", "one step") for f in before):
        hidden = "whatever is wrong above changes the gradients that show the masks"
    else:
        readers.update(dropout=_dropout)
    evidence = []
    for rung in judged["rungs"]:
        if rung["passed"] is not False:
            continue
        read = readers[rung["rung"]](*asked) if rung["rung"] in readers else []
        known = rung["error"] and rung["tolerance"]
        off = rung["error"] / rung["tolerance"] if known else np.inf
        if rung["rung"] == "dropout" and followed and not hidden:
            if rung["kind"] != PREDICTION and any(isinstance(found, Quotation) for found in read):
                read, hidden = [], "its gradients follow a different convention from the one named"
        if rung["rung"] == "dropout" and hidden:
            evidence.append(Finding.read(UNREAD, "dropout", UNREADABLE % hidden, off))
        evidence += [
            Finding.read(CAUSE, rung["rung"], found.says, off, found.concept) for found in read
        ]
    return evidence


def _counted(answers):
    """(the probe model's losses, their right proportions); (None, None) if they show nothing."""
    losses, counts = answers.get("probe/losses1"), np.array(2 * (masks.SEEN,) + COUNTS, float)
    if losses is None or losses.shape != counts.shape:
        return None, None
    if not np.isfinite(losses).all() or not (losses > 0).all():
        return None, None
    return losses, counts


def _order(challenge, arrays, answers, description, judged):
    """The order of the batches in training; each batch of the probe model has its own loss."""
    losses, counts = _counted(answers)
    if losses is None:
        return []
    order = np.argsort(counts, kind="stable")[np.argsort(np.argsort(losses))]
    part = losses / counts[order]
    if np.array_equal(counts[order], counts) or np.ptp(part) > 0.1 * part.mean():
        return []
    numbers = ", ".join(str(number + 1) for number in order)
    return [Reading("a pass takes the batches in another order: %s" % numbers)]


def _clipped(challenge, arrays, answers, description, judged):
    """A bound of the loss, if the losses of nearly impossible labels are too small."""
    losses, counts = _counted(answers)
    if losses is None or description.task.name != CLASSES.name:
        return []
    fixed_output = tasks.of(description).FIXED_OUTPUT
    right = fixed_output * counts / PROBE_BATCH
    part = losses / right
    if part.max() > 0.9 or np.ptp(part) > 0.1 * part.mean():
        largest = losses.max()
        ceiling = np.minimum(right, largest)
        if largest > 0.9 * right.max() or (abs(losses / ceiling - 1) > 0.1).any():
            return []
        return [Reading("no loss is above %.4g: a probability is clipped" % largest, LOSS)]
    largest = float(part.mean() * fixed_output)
    if largest > HIGHEST:  # all losses are smaller by one factor
        return []
    says = "no image's loss is above %.4g: probabilities are raised to at least %.2g"
    return [Reading(says % (largest, np.exp(-largest)), LOSS)]


def _dropout(challenge, arrays, answers, description, judged):
    """The fraction that each layer keeps, and its factor; otherwise the rung's own message."""
    entry = protocol.entry_of(challenge, "probe")
    before = {tensor: arrays[name] for tensor, name in entry["weights"].items()}
    try:
        after = {tensor: answers["probe/after1/" + tensor] for tensor in before}
        seen = masks.observe(before, after, TIED[challenge["named"]["ties"]])
    except (KeyError, ValueError):
        return []
    wrong, several = [], []
    for number, mask in sorted(_own_scales(seen).items()):
        values = mask[~np.isnan(mask)]
        kept = np.abs(values) > 1e-2
        if not kept.any():
            wrong.append("dropout %d keeps nothing" % number)
            continue
        share = kept.mean()
        if share < 1:
            alone = seen._replace(layers={number: mask}, rates={number: 1 - share})
            several += [check.detail for check in shared(alone) if not check.passed][:1]
        says = _fraction(number, seen.rates, share, np.median(values[kept]), kept.size)
        wrong += [says] if says else []
    rung = next(rung for rung in judged["rungs"] if rung["rung"] == "dropout")
    # If many values share a mask, too few random numbers are drawn to measure a fraction.
    if several or wrong:
        return [Reading(says, "dropout") for says in several or wrong]
    if rung["kind"] == PREDICTION and _stale(challenge, arrays, answers, description):
        return [Reading("prediction uses the weights from before training", "prediction")]
    return [Quotation(rung["detail"], "dropout")] if rung["detail"] else []


def _stale(challenge, arrays, answers, description):
    """Whether the last prediction after training still uses the initial weights."""
    entry = protocol.entry_of(challenge, "probe")
    action = next(a for a in entry["do"][::-1] if "predict" in a and "answer" in a)
    ours, observations = answers.get(action["answer"]), arrays[action["predict"]]
    if ours is None:
        return False
    module = protocol.reference(challenge, description)
    model, settings = protocol.build(entry, arrays, description, module, "same", 1)
    x, _ = module.load(observations, np.zeros(len(observations), np.int64), settings)
    before_training = masks.telling(module.predict(model, x))
    return distance(before_training, masks.telling(ours)) < SAME * abs(before_training).max()


def _own_scales(seen):
    """{number: mask} with measured scales; ``seen`` assumes the right scale for dropout 2."""
    second = seen.layers[2][:, 50:]  # ``masks`` only says if the others are kept
    kept = second[np.abs(second) > 1e-2]
    if not kept.size:
        return dict(seen.layers)
    right = (1 - seen.rates[2]) * np.median(kept)
    lit, first = masks.brightness(masks.SEEN), seen.layers[1].copy()
    window = first[:, :, ::2, ::2]
    window[:] = ((window * lit + masks.BETWEEN) / right - masks.BETWEEN) / lit
    return {1: first, 2: second, 3: seen.layers[3]}


def _fraction(number, rates, share, scale, n):
    """A layer's mistake in words, from the share that it keeps and its scale; "" if it is right."""
    rate = rates[number]

    def fits(keep, times):
        spread = SIGMAS * np.sqrt(max(keep * (1 - keep), 1e-9) / n)
        return abs(share - keep) <= spread and abs(scale - times) <= SCALE * times

    if fits(1 - rate, 1 / (1 - rate)):
        return ""
    layer = "dropout %d " % number
    if fits(1, 1):
        return layer + "drops nothing in training"
    if fits(rate, 1 / rate):
        return layer + "mistakes the fraction to drop for the fraction to keep"
    if fits(rate, 1 / (1 - rate)):
        return layer + "mistakes the fraction to drop for the fraction to keep, but scales rightly"
    if fits(1 - rate, 1):
        return layer + "does not scale what it keeps"
    for other, its in sorted(rates.items()):
        if fits(1 - its, 1 / (1 - its)):
            return layer + "has the rate of dropout %d" % other
    says = "%sdrops %.3f, not %.3f, and scales by %.4f, not %.4f"
    return says % (layer, 1 - share, rate, scale, 1 / (1 - rate))


def _losses(challenge, arrays, answers, description, judged):
    """The mistake in the losses, from their relation to the right ones."""
    exact = np.array(judged["losses"].get("reference", ()))
    rung = next(rung for rung in judged["rungs"] if rung["rung"] == "trajectory")
    if rung["kind"] == TOO_EXACT:
        says = "the losses are those of float64: what was computed was not float32"
        return [Reading(says, "precision")]
    names = protocol.names_of_losses(challenge)
    if not all(name in answers for name in names) or not len(exact):
        return []
    passes = [answers[name] for name in names]
    ours = np.concatenate(passes)
    rounded = np.array(judged["losses"]["reference_float32"])
    allowed = MULTIPLE * np.maximum.accumulate(abs(rounded - exact)) + EXACT * abs(exact)
    split = np.split(exact, np.cumsum([len(losses) for losses in passes])[:-1])
    means = np.concatenate([part.cumsum() / np.arange(1, len(part) + 1) for part in split])
    size = description.hp.batch_size

    def fit(wrong):
        factor = max(1, np.nanmax(abs(wrong)) / abs(exact).max())
        known = ~np.isnan(wrong)
        return (abs(ours - wrong)[known] <= factor * allowed[known]).all()

    for says, wrong in (
        ("the losses are the mean of the pass so far (Keras's logs)", means),
        ("the losses are sums over the batch", exact * size),
        ("the losses are those of the next step", np.append(exact[1:], np.nan)),
        ("the losses are those of the step before", np.append(np.nan, exact[:-1])),
        ("the losses are in bits, not in nats", exact / np.log(2)),
    ):
        if fit(wrong):
            return [Reading(says, LOSS)]
    if (abs(ours - exact) <= allowed + 2.0**-7 * abs(exact)).all():
        bits = np.ascontiguousarray(ours, np.float32).view(np.int32)
        if not (bits & 0xFFFF).any():
            return [Reading("the losses have the digits of bfloat16 only", "precision")]
        if np.array_equal(ours, np.float16(ours)):
            return [Reading("the losses have the digits of float16 only", "precision")]
    # Last, because both train the reference.
    if fit(_after_update(challenge, arrays, description)):
        return [Reading("the loss of a step is read after its update", LOSS)]
    convention = conventions.nearer(challenge, arrays, answers, description)
    if convention:
        says = "the losses are nearer to those of another convention (%s), which is not a mistake"
        return [Reading(says % protocol.option(*convention), "Adam")]
    return []


def _after_update(challenge, arrays, description):
    """The losses of the recipe model's batches, each with the weights after its step."""
    entry = protocol.entry_of(challenge, "recipe")
    module = protocol.reference(challenge, description)
    model, settings = protocol.build(entry, arrays, description, module, "same", 1)
    network, criterion, _ = model
    losses = []
    for action in entry["do"]:
        for x, y in action.get("train", ()):
            x, y = module.load(arrays[x], arrays[y], settings)
            for _ in module.train(model, [(x, y)]):
                pass
            for layer in network:
                x = layer.forward(x, training=True)
            losses.append(float(criterion(x, y)[0]))
    return np.array(losses)


def _figure(challenge, arrays, answers, description, judged):
    """The mistake in evaluation that gives this figure."""
    figure = answers.get(challenge["evaluate"]["answer"])
    if figure is None:
        return []
    outputs = arrays[challenge["evaluate"]["scores"]]
    targets = arrays[challenge["evaluate"]["targets"]]
    known = {CLASSES.name: _of_classes, TOKENS.name: _of_tokens}
    right, *wrong = known.get(description.task.name, _of_values)(np.float64(outputs), targets)
    for says, value in wrong:
        if abs(figure - right[1]) > EXACT and abs(figure - value) <= EXACT * max(1, abs(value)):
            return [Reading("evaluation: " + says)]
    return []


def _of_classes(scores, labels):
    ranked = scores.argsort(1)[:, ::-1]
    right = ranked[:, 0] == labels
    half = len(labels) // 2
    figures = [("right", right.mean())]
    for k in (2, 3, 5):
        share = (ranked[:, :k] == labels[:, None]).any(1).mean()
        figures.append(("a label among the %d highest scores counts" % k, share))
    return figures + [
        ("labels begin at 1 where they are compared", (ranked[:, 0] == labels + 1).mean()),
        ("only the first half of the rows counts", right[:half].mean()),
        ("the rows that are wrong are counted", 1 - right.mean()),
        ("it is in percent", 100 * right.mean()),
        ("the rows are counted, not their share", right.sum()),
    ]


def _of_tokens(scores, targets):
    steps = targets.shape[1]
    logs = log_softmax(scores[:, :steps], 2)
    losses = -np.take_along_axis(logs, np.maximum(targets, 0)[..., None], 2)[..., 0]
    counted = targets != IGNORED
    right, half = losses[counted].mean(), len(targets) // 2
    numbers = counted.sum(1)
    rows = (losses * counted).sum(1)[numbers > 0] / numbers[numbers > 0]
    figures = [
        ("right", right),
        ("it is the perplexity", np.exp(right)),
        ("it is in bits, not in nats", right / np.log(2)),
        ("only the first half of the rows counts", losses[:half][counted[:half]].mean()),
        ("only the last place counts", losses[:, -1][counted[:, -1]].mean()),
    ]
    if not counted.all():
        figures += [
            ("it is the mean of each text's mean, not of all targets", rows.mean()),
            ("ignored targets count as character 0", losses.mean()),
            ("ignored targets are counted in the mean", (losses * counted).mean()),
        ]
    return figures


def _of_values(values, targets):
    difference = values - targets
    half = len(values) // 2
    return [
        ("right", np.sqrt((difference**2).mean())),
        ("the root of the mean square is missing", (difference**2).mean()),
        ("it is the mean of absolute differences", abs(difference).mean()),
        ("only the first half of the rows counts", np.sqrt((difference[:half] ** 2).mean())),
    ]
