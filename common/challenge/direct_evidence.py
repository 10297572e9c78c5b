"""Causes that an answer shows directly: in the masks of dropout, the losses, the figure at the end.

Each is named where what it gives is what was answered; nothing has to be trained for that.
"""

import numpy as np

from common.challenge import protocol
from common.challenge.diagnosis import CAUSE, Finding
from common.networks.cnn import masks
from common.networks.model import CLASSES
from common.proof import tasks
from common.proof.dropout import SIGMAS, shared
from common.proof.oracle import PROBE_BATCH
from common.proof.reference import MULTIPLE, distance
from common.proof.rungs.subject import COUNTS

LOSS = "loss and its reduction"  # a concept of the phrase book
EXACT = 1e-6  # of a figure; of a loss, as a part of it
SCALE = 2e-3  # of what a mask multiplies by
SAME = 1e-5  # of scores: float32's rounding, and more


def findings(asked, arrays, answers, description, judged, before):
    """``Finding`` of each rung that failed, of those that are read so.

    judged: the certifier's verdict. before: what was found by simulation, of which masks and losses
    would show the effect; other scores, of which any loss would.
    """
    found, readers = [], {"data": _order, "accuracy": _figure}
    if not any(finding.stage == "scores" or finding.bounds_loss for finding in before):
        readers.update(gradient=_clipped)
    if not before:
        readers.update(dropout=_dropout, trajectory=_losses)
    for rung in judged["rungs"]:
        if rung["passed"] is False and rung["rung"] in readers:
            causes = readers[rung["rung"]](asked, arrays, answers, description, judged)
            known = rung["error"] and rung["tolerance"]
            off = rung["error"] / rung["tolerance"] if known else np.inf
            found += [
                Finding(CAUSE, rung["rung"], says, [], off, off, concept)
                for says, concept in causes
            ]
    return found


def _counted(answers):
    """(the probe model's losses, what the right ones are proportional to); (None, None) without."""
    losses, counts = answers.get("probe/losses1"), np.array(2 * (masks.SEEN,) + COUNTS, float)
    if losses is None or losses.shape != counts.shape or not np.isfinite(losses).all():
        return None, None
    return losses, counts


def _order(asked, arrays, answers, description, judged):
    """In which order the batches are trained on: each of the probe's has a loss of its own."""
    losses, counts = _counted(answers)
    if losses is None:
        return []
    order = np.argsort(counts, kind="stable")[np.argsort(np.argsort(losses))]
    part = losses / counts[order]
    if np.array_equal(counts[order], counts) or np.ptp(part) > 0.1 * part.mean():
        return []
    told = ", ".join(str(number + 1) for number in order)
    return [("the batches of a pass are trained on in another order: %s" % told, None)]


def _clipped(asked, arrays, answers, description, judged):
    """Which loss is the largest, where labels that are all but impossible have less than theirs."""
    losses, counts = _counted(answers)
    if losses is None or description.task is not CLASSES:
        return []
    certain = tasks.of(description).FIXED_OUTPUT
    right = certain * counts / PROBE_BATCH
    part = losses / right
    if part.max() > 0.9 or np.ptp(part) > 0.1 * part.mean():
        largest = losses.max()
        ceiling = np.minimum(right, largest)
        if largest > 0.9 * right.max() or (abs(losses / ceiling - 1) > 0.1).any():
            return []
        return [("no loss is above %.4g: a probability is clipped" % largest, LOSS)]
    largest = float(part.mean() * certain)
    told = "no image's loss is above %.4g: a probability below %.2g is taken for that"
    return [(told % (largest, np.exp(-largest)), LOSS)]


def _dropout(asked, arrays, answers, description, judged):
    """What each layer keeps, and what it multiplies that by; else what the rung has seen first."""
    entry = next(one for one in asked["models"] if one["name"] == "probe")
    before = {tensor: arrays[name] for tensor, name in entry["weights"].items()}
    try:
        after = {tensor: answers["probe/after1/" + tensor] for tensor in before}
        seen = masks.observe(before, after, {"one": 1, "all": 4}[asked["named"]["ties"]])
    except (KeyError, ValueError):
        return []
    found, several = [], []
    for number, mask in sorted(_own_scales(seen).items()):
        values = mask[~np.isnan(mask)]
        kept = np.abs(values) > 1e-2
        if not kept.any():
            found.append("dropout %d keeps nothing" % number)
            continue
        share = kept.mean()
        if share < 1:
            alone = seen._replace(layers={number: mask}, rates={number: 1 - share})
            several += [one.detail for one in shared(alone) if not one.passed][:1]
        says = _fraction(number, seen.rates, share, np.median(values[kept]), kept.size)
        found += [says] if says else []
    rung = next(rung for rung in judged["rungs"] if rung["rung"] == "dropout")
    first, concept = rung["detail"], "dropout"
    if rung["what"] == "scores in prediction" and _stale(asked, arrays, answers, description):
        first, concept = "prediction has the weights from before training", "prediction"
    # Of one mask for many values, too few were drawn to tell a fraction.
    if several or found:
        return [(says, "dropout") for says in several or found]
    return [(first, concept)] if first else []


def _stale(asked, arrays, answers, description):
    """Whether the last prediction behind the training is that of the weights it began with."""
    entry = next(one for one in asked["models"] if one["name"] == "probe")
    action = next(one for one in entry["do"][::-1] if "predict" in one and "answer" in one)
    ours, observations = answers.get(action["answer"]), arrays[action["predict"]]
    if ours is None:
        return False
    module = protocol.reference(asked, description)
    model, settings = protocol.build(entry, arrays, description, module, "same", 1)
    x, _ = module.load(observations, np.zeros(len(observations), np.int64), settings)
    begun = masks.telling(module.predict(model, x))
    return distance(begun, masks.telling(ours)) < SAME * abs(begun).max()


def _own_scales(seen):
    """{number: mask} with the scales that were measured, where ``seen`` takes 2's to be right."""
    second = seen.layers[2][:, 50:]  # of the other channels ``masks`` says whether they were kept
    kept = second[np.abs(second) > 1e-2]
    if not kept.size:
        return dict(seen.layers)
    right = (1 - seen.rates[2]) * np.median(kept)
    lit, first = masks.brightness(masks.SEEN), seen.layers[1].copy()
    window = first[:, :, ::2, ::2]
    window[:] = ((window * lit + masks.BEHIND) / right - masks.BEHIND) / lit
    return {1: first, 2: second, 3: seen.layers[3]}


def _fraction(number, rates, share, scale, n):
    """In words, what a layer does that keeps this share and scales it so; "" if that is right."""
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
        return layer + "takes the fraction to drop for the fraction to keep"
    if fits(rate, 1 / (1 - rate)):
        return layer + "takes the fraction to drop for the fraction to keep, but scales rightly"
    if fits(1 - rate, 1):
        return layer + "does not scale what it keeps"
    for other, its in sorted(rates.items()):
        if fits(1 - its, 1 / (1 - its)):
            return layer + "has the rate of dropout %d" % other
    told = (layer, 1 - share, rate, scale, 1 / (1 - rate))
    return "%sdrops %.3f, not %.3f, and scales by %.4f, not %.4f" % told


def _losses(asked, arrays, answers, description, judged):
    """In what relation the losses stand to the right ones."""
    exact = np.array(judged["losses"].get("reference", ()))
    rung = next(one for one in judged["rungs"] if one["rung"] == "trajectory")
    if rung["what"].startswith("too exact"):
        return [("the losses are those of float64: what was computed was not float32", "precision")]
    names = [
        action["answer"]
        for entry in asked["models"]
        if entry["name"] == "recipe"
        for action in entry["do"]
        if "answer" in action and "train" in action
    ]
    if not all(name in answers for name in names) or not len(exact):
        return []
    passes = [answers[name] for name in names]
    ours = np.concatenate(passes)
    rounded = np.array(judged["losses"]["reference_float32"])
    allowed = MULTIPLE * np.maximum.accumulate(abs(rounded - exact)) + EXACT * abs(exact)
    split = np.split(exact, np.cumsum([len(one) for one in passes])[:-1])
    means = np.concatenate([one.cumsum() / np.arange(1, len(one) + 1) for one in split])
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
            return [(says, LOSS)]
    if (abs(ours - exact) <= allowed + 2.0**-7 * abs(exact)).all():
        bits = np.ascontiguousarray(ours, np.float32).view(np.int32)
        if not (bits & 0xFFFF).any():
            return [("the losses have the digits of bfloat16 only", "precision")]
        if np.array_equal(ours, np.float16(ours)):
            return [("the losses have the digits of float16 only", "precision")]
    if fit(_after_update(asked, arrays, description)):  # last: the reference trains for it
        return [("the loss of a step is read after its update", LOSS)]
    return []


def _after_update(asked, arrays, description):
    """The losses of the recipe model's batches, each with the weights that its step has left."""
    entry = next(one for one in asked["models"] if one["name"] == "recipe")
    module = protocol.reference(asked, description)
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


def _figure(asked, arrays, answers, description, judged):
    """The mistake in counting that gives this figure."""
    figure = answers.get(asked["evaluate"]["answer"])
    if figure is None:
        return []
    outputs = arrays[asked["evaluate"]["scores"]]
    targets = arrays[asked["evaluate"]["targets"]]
    known = _of_classes if description.task is CLASSES else _of_values
    right, *wrong = known(np.float64(outputs), targets)
    for says, value in wrong:
        if abs(figure - right[1]) > EXACT and abs(figure - value) <= EXACT * max(1, abs(value)):
            return [("evaluation: " + says, None)]
    return []


def _of_classes(scores, labels):
    ranked = scores.argsort(1)[:, ::-1]
    right = ranked[:, 0] == labels
    half = len(labels) // 2
    found = [("right", right.mean())]
    for k in (2, 3, 5):
        share = (ranked[:, :k] == labels[:, None]).any(1).mean()
        found.append(("a label among the %d highest scores counts" % k, share))
    return found + [
        ("labels begin at 1 where they are compared", (ranked[:, 0] == labels + 1).mean()),
        ("only the first half of the rows counts", right[:half].mean()),
        ("the rows that are wrong are counted", 1 - right.mean()),
        ("it is told in percent", 100 * right.mean()),
        ("the rows are counted, not their share", right.sum()),
    ]


def _of_values(values, targets):
    difference = values - targets
    half = len(values) // 2
    return [
        ("right", np.sqrt((difference**2).mean())),
        ("there is no root of the mean square", (difference**2).mean()),
        ("it is the mean of absolute differences", abs(difference).mean()),
        ("only the first half of the rows counts", np.sqrt((difference[:half] ** 2).mean())),
    ]
