"""Why an answer is wrong: known mistakes are made, and one is named only if it gives its numbers.

What an answer shows is compared in stages: the scores, the weights after a step, the weights after
three. The first stage that is off is explained, or not; a cause that explains it stays made while
later stages are looked at, so that one run may find several.
"""

from collections import OrderedDict, namedtuple

import numpy as np
from tqdm import tqdm

from common.challenge import causes, script, updates
from common.host import modules
from common.proof.reference import MULTIPLE, unit

MOST = 3  # causes that are looked for behind each other
ROWS = 16  # of a prediction's begin, middle and end, that hypotheses are compared by
NEAR = 0.01  # behind a cause: the part of its effect that may be left, where rounding tips an edge

Finding = namedtuple("Finding", "stage says before after")
Finding.__doc__ = """What was found at a stage.

stage: what was off.
says: the cause; None if it is none of the known ones.
before, after: how far off the answer is, in tolerances, from the reference without and with it.
"""

# Each is a model, and what of it is compared.
STAGES = OrderedDict(
    [
        ("scores", ("gradient",)),
        ("one step", ("gradient", "bright")),
        ("three steps", ("momentum",)),
    ]
)


class Diagnosis:
    """Looks for the causes of one answer."""

    def __init__(self, asked, arrays, answers, description, threads):
        self.asked, self.arrays, self.answers = asked, arrays, answers
        self.description, self.threads = description, threads
        self.module = causes.plain(description, modules.load("numpy", description.name))
        self.models = {entry["name"]: entry for entry in asked["models"]}
        self.units, self.sizes = {}, {}
        rows = len(answers.get("gradient/scores1", ()))
        chosen = np.r_[:ROWS, rows // 2 : rows // 2 + ROWS, rows - ROWS : rows]
        self.rows = np.unique(chosen.clip(0, max(rows - 1, 0)))

    def given(self, module, stage, precision="float64"):
        """Yield {name: array} of what ``module`` gives, model by model; some rows of scores."""
        wrapped = in_precision(module, precision)
        for name in STAGES[stage]:
            entry = self.models[name]
            if stage == "scores":
                yield {"gradient/scores1": self._scores(wrapped, entry)}
            else:
                training = [action for action in entry["do"] if "predict" not in action]
                part = dict(self.asked, models=[dict(entry, do=training)])
                yield script.carry_out(
                    part, self.arrays, self.description, wrapped, "same", self.threads
                )

    def _scores(self, module, entry):
        model, settings = script.build(
            entry, self.arrays, self.description, module, "same", self.threads
        )
        name = next(action["predict"] for action in entry["do"] if "predict" in action)
        none = np.zeros(len(self.rows), np.int64)
        x, _ = module.load(self.arrays[name][self.rows], none, settings)
        return module.predict(model, x)

    def answered(self, stage):
        """{name: array} of what was answered at a stage."""
        if stage == "scores":
            scores = self.answers.get("gradient/scores1")
            return {} if scores is None else {"gradient/scores1": scores[self.rows]}
        starts = tuple(name + "/after" for name in STAGES[stage])
        return {
            name: array
            for name, array in self.answers.items()
            if name.startswith(starts) and "/after0/" not in name
        }

    def off(self, module, stage, enough=np.inf):
        """How far the answer is from what ``module`` gives, in tolerances; the worst array's.

        More than ``enough`` need not be exact.
        """
        answered, worst = self.answered(stage), 0.0
        for given in self.given(module, stage):
            for name in answered:
                if name in given:
                    worst = max(worst, self._error(name, answered[name], given[name]))
            if worst > enough:
                break
        return worst

    def _error(self, name, ours, exact):
        allowed = MULTIPLE * self.units[name] * max(1, _size(exact) / self.sizes[name])
        difference = float(np.sqrt(np.mean((np.float64(ours) - exact) ** 2)))
        return difference / allowed if np.isfinite(difference) else np.inf

    def _learn_units(self, stage):
        answered = self.answered(stage)
        both = zip(self.given(self.module, stage), self.given(self.module, stage, "float32"))
        for exact, rounded in both:
            for name in answered:
                if name in exact:
                    self.units[name] = unit(exact[name], rounded[name])
                    self.sizes[name] = max(_size(exact[name]), 1e-30)

    def _evidence(self, module):
        """What the gradient model's step shows beside ``module``'s; None if it was not answered."""
        entry, shapes = self.models["gradient"], self.description.shapes
        if not all("gradient/after1/" + name in self.answers for name in shapes):
            return None
        right = next(self.given(module, "one step"))
        start = {name: np.float64(self.arrays[entry["weights"][name]]) for name in shapes}
        moved, silent = OrderedDict(), OrderedDict()
        for name in shapes:
            moved[name] = self.answers["gradient/after1/" + name] - start[name]
            certain = "bright/after1/" + name
            if certain in self.answers:
                begin = self.arrays[self.models["bright"]["weights"][name]]
                silent[name] = np.float64(self.answers[certain]) - begin
        step = {name: right["gradient/after1/" + name] - start[name] for name in shapes}
        silent = silent if len(silent) == len(moved) else {}
        return updates.Evidence(start, moved, step, silent)

    def _hypotheses(self, module, stage):
        if stage == "scores":
            return causes.forward(self.description, self.module)
        evidence = self._evidence(module) if stage == "one step" else None
        return updates.found(self.description, evidence)

    def findings(self):
        """``Finding`` after finding, until all is explained or something is not."""
        module, explained = self.module, {}
        stages = [stage for stage in STAGES if self.answered(stage)]
        for stage in stages:
            self._learn_units(stage)
        found = []
        for stage in stages:
            for _ in range(MOST):
                before = self.off(module, stage)
                if before <= max(1, NEAR * explained.get(stage, 0)):
                    break
                best = self._best(module, stage, before)
                if best is None:
                    return found + [Finding(stage, None, before, before)]
                cause, after = best
                found.append(Finding(stage, cause.says, before, after))
                module = cause.make(module)
                explained.update((later, before) for later in stages)
        return found

    def _best(self, module, stage, before):
        """(cause, how far off it leaves the answer) of the one that explains a stage; or None."""
        best, enough = None, max(1, NEAR * before)
        hypotheses = self._hypotheses(module, stage)
        for cause in tqdm(hypotheses, desc="causes, " + stage, unit="cause", leave=False):
            with np.errstate(all="ignore"):
                after = self.off(cause.make(module), stage, enough)
            if after <= enough and (best is None or after < best[1]):
                best = cause, after
        return best


def in_precision(module, precision):
    """``module``, configured to compute in this precision."""

    def configure(lane, threads, seed):
        return dict(module.configure(lane, threads, seed), precision=precision)

    return causes.replaced(module, configure=configure)


def _size(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def told(findings):
    """Findings as lines of text."""
    lines = []
    for number, one in enumerate(findings, 1):
        if one.says is None:
            line = "unknown, first seen in %s: off by %.3g tolerances"
            lines.append(line % (one.stage, one.before))
        else:
            line = "cause %d, seen in %s: %s (off by %.3g tolerances without it, %.3g with it)"
            lines.append(line % (number, one.stage, one.says, one.before, one.after))
    return lines
