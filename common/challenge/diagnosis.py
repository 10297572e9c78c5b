"""Find out why an answer is wrong: name a mistake only if making it gives the answer's numbers.

The comparison has stages: scores, weights after one step, after three and after eight, generated
tokens. One cause must explain the first stage that is off. The reference then makes that mistake in
later stages, so a diagnosis may find a cause for each. ``direct_evidence.py`` reads everything else
from the answer: dropout's masks, the losses, the figure of evaluation.
"""

from collections import OrderedDict, namedtuple
from typing import List, NamedTuple, Optional, Tuple

import numpy as np
from tqdm import tqdm

from common.challenge import causes, hypotheses, optimizers, protocol, updates
from common.challenge.networks import are_probabilities, softmax_causes
from common.proof.reference import MULTIPLE, unit
from common.system.modules import replaced

ROWS = 5  # rows to compare at the start, the middle and the end of a prediction
FEW = 2  # rows that are enough to refute most hypotheses
BRANCHES = 8  # causes with the same numbers that are followed into later stages
SLACK = 4  # tolerances that a cause may leave, because it rounds in another order than the port
NEAR = 0.01  # share of a cause's effect that kinks may leave
BRIGHT, ZERO = "bright/", "bright/after1/"  # images may be near kinks; the gradient is 0

CAUSE, UNKNOWN, KINKS, UNREAD = "cause", "unknown", "kinks", "unread"

PAGE = "reports/site/index.html, which tox run -e report builds"


class Finding(NamedTuple):
    """The explanation of a stage.

    kind: ``CAUSE``; ``UNKNOWN`` if no known cause fits; ``KINKS`` for an error so small that ReLUs
        and pools may explain it, if a cause of wrong scores has moved them across a kink;
        ``UNREAD`` for a rung whose answers cannot be read because of an earlier cause.
    stage: the stage that is off.
    says: the cause in words; for an unknown one, any other observation, or "".
    others: further causes that give the same numbers.
    before, after: the distance of the answer, in tolerances, from the reference without and with
        it.
    concept, bounds_loss, convention: the cause's.
    """

    kind: str
    stage: str
    says: str
    others: List[str]
    before: float
    after: float
    concept: Optional[str] = None
    bounds_loss: bool = False
    convention: Optional[Tuple[str, str]] = None

    @classmethod
    def of(cls, cause, stage, before, after):
        """A ``causes.Cause`` that explains a stage."""
        own = cause.concept, cause.bounds_loss, cause.convention
        return cls(CAUSE, stage, cause.says, [], before, after, *own)

    @classmethod
    def read(cls, kind, stage, says, off, concept=None):
        """A finding whose distance no simulation has changed."""
        return cls(kind, stage, says, [], off, off, concept)


class Reading(NamedTuple):
    """A mistake that is read directly from an answer.

    says: the mistake in words. concept: its concept in the phrase book, or None.
    """

    says: str
    concept: Optional[str] = None


Fit = namedtuple("Fit", "cause after left")
Fit.__doc__ = """A cause that explains a stage.

after: the distance of the answer with it, in tolerances; left: the same, including kinks.
"""

Branch = namedtuple("Branch", "cause left module effects complete")
Branch.__doc__ = """The diagnosis with one more cause.

cause: its finding. left: [the finding about kinks], or []. module: has the mistake. effects:
{stage: how far off it may remain}. complete: whether it explains all later stages.
"""


class Chain(namedtuple("Chain", "cause rest")):
    """A finding and the findings of later stages that follow if it is the cause."""

    def causes(self):
        """The findings after the first, without those about kinks."""
        return [finding for finding in self.rest if finding.kind != KINKS]

    def rank(self):
        """Sort key; smaller is likelier."""
        causes = self.causes()
        return any(finding.kind == UNKNOWN for finding in causes), len(causes)

    def continues_like(self, other):
        """Whether the later findings of both chains are the same."""
        ours, theirs = (
            [(finding.kind, finding.stage, finding.says) for finding in chain.causes()]
            for chain in (self, other)
        )
        return ours == theirs


# {stage: the models to compare}
STAGES = OrderedDict(
    [
        ("scores", ("gradient", "small")),
        ("one step", ("gradient", "bright", "uneven")),
        ("three steps", ("momentum",)),
        ("eight steps", ("schedule",)),
        ("generation", ("generation",)),
    ]
)


class Diagnosis:
    """Finds the causes of the errors in an answer.

    like: the diagnosis of another answer to the same challenge, whose reference this one shares.
    """

    def __init__(self, challenge, arrays, answers, description, threads, like=None):
        self.challenge, self.arrays, self.answers = challenge, arrays, answers
        self.description, self.threads = description, threads
        self.module = causes.plain(description, protocol.reference(challenge, description))
        self.models = {entry["name"]: entry for entry in challenge["models"]}
        self.state = description.state
        self.transformer = "attention" in description.traits  # its sixty steps take long
        self.smooth = bool({"attention", "gated"} & description.traits)  # no ReLU, no pool
        self.visible = hypotheses.visible(description)
        self.units, self.sizes, self.every_row = {}, {}, None
        # {(id of a reused module, stage, precision): its answers}
        self.simulations, self.reused_modules = {}, [self.module]
        if like:
            own = id(like.module)
            self.module, self.reused_modules = like.module, [like.module]
            self.simulations = {key: s for key, s in like.simulations.items() if key[0] == own}

    def predictions(self, name, kind="predict"):
        """{answer: observations} of a model's predictions."""
        actions = self.models[name]["do"] if name in self.models else ()
        return {a["answer"]: a[kind] for a in actions if kind in a and "answer" in a}

    def simulated(self, module, stage, precision="float64"):
        """``module``'s answers, {name: array}, for each model; only some rows of scores."""
        if not any(module is known for known in self.reused_modules):
            return self._simulate(module, stage, precision)
        key = id(module), stage, precision
        if key not in self.simulations:
            self.simulations[key] = list(self._simulate(module, stage, precision))
        return self.simulations[key]

    def _simulate(self, module, stage, precision):
        wrapped = self._configured(module, precision)
        for name in [name for name in STAGES[stage] if name in self.models]:
            if stage in ("scores", "generation"):
                yield self._scores(wrapped, name, some)
            else:
                part = dict(self.challenge, models=[self._trained(name)])
                yield protocol.carry_out(
                    part, self.arrays, self.description, wrapped, "same", self.threads
                )

    def _trained(self, name):
        """A model's entry without predictions that have an answer; others may change its state."""
        entry = self.models[name]
        do = [step for step in entry["do"] if "predict" not in step or "answer" not in step]
        if name == "bright" and self.transformer:
            do = do[:1]
        return dict(entry, do=do)

    def _configured(self, module, precision):
        """``module`` in another precision."""

        def configure(lane, threads, seed):
            return dict(module.configure(lane, threads, seed), precision=precision)

        return replaced(module, configure=configure)

    def _scores(self, module, model, rows):
        """{name: array} with the rows ``rows(n)`` of each prediction of a model."""
        return dict(self._each_score(module, model, rows))

    def _each_score(self, module, model, rows):
        """Yield the items of ``_scores``."""
        built, settings = protocol.build(
            self.models[model], self.arrays, self.description, module, "same", self.threads
        )
        # A module that also generates has ``score`` for the observations alone.
        predict = {"predict": getattr(module, "score", module.predict), "generate": module.predict}
        for kind in predict:
            for name, observations in self.predictions(model, kind).items():
                x = self.arrays[observations][rows(len(self.arrays[observations]))]
                x, _ = module.load(x, np.zeros(len(x), np.int64), settings)
                yield name, predict[kind](built, x)

    def answered(self, stage):
        """{name: array} of the answers at a stage."""
        if stage in ("scores", "generation"):
            kind = "predict" if stage == "scores" else "generate"
            names = [n for model in STAGES[stage] for n in self.predictions(model, kind)]
            answers = {name: self.answers[name] for name in names if name in self.answers}
            return {name: rows[some(len(rows))] for name, rows in answers.items()}
        starts = tuple(name + "/after" for name in STAGES[stage])
        return {
            name: array
            for name, array in self.answers.items()
            if name.startswith(starts) and "/after0/" not in name
        }

    def off(self, module, stage):
        """The distance of the worst array of the answer from ``module``'s, in tolerances."""
        return max(self._errors(module, stage).values(), default=0.0)

    def _errors(self, module, stage, enough=np.inf, precision="float64", spare=None):
        """{name: distance of the answer from ``module``'s, in tolerances}.

        Stops at the first one beyond ``enough``. spare: {name: a distance that does not count}.
        """
        answered, errors = self.answered(stage), {}
        for simulated in self.simulated(module, stage, precision):
            for name in answered:
                if name in simulated:
                    errors[name] = self._error(name, answered[name], simulated[name])
            if _worst(errors, spare or {}) > enough:
                break
        return errors

    def _apart(self, module, other, stage, precision="float64"):
        """The distance of the worst array of two modules at a stage, in tolerances.

        precision: of the second one.
        """
        answered = self.answered(stage)
        pairs = zip(self.simulated(module, stage), self.simulated(other, stage, precision))
        errors = [
            self._error(name, theirs[name], ours[name])
            for ours, theirs in pairs
            for name in ours
            if name in answered
        ]
        return max(errors, default=0.0)

    def _error(self, name, ours, exact):
        # If the gradient is 0, half a unit already counts as a movement.
        still = name.startswith(ZERO) and name[len(ZERO) :] not in self.state
        multiple = 0.5 if still else MULTIPLE
        ours, exact = self.visible(name, ours), self.visible(name, exact)
        allowed = multiple * self.units[name] * max(1, _size(exact) / self.sizes[name])
        difference = float(np.sqrt(np.mean((np.float64(ours) - exact) ** 2)))
        return difference / allowed if np.isfinite(difference) else np.inf

    def _learn_units(self, stage):
        answered = self.answered(stage)
        pairs = zip(
            self.simulated(self.module, stage), self.simulated(self.module, stage, "float32")
        )
        for exact, rounded in pairs:
            for name in answered:
                if name in exact:
                    pair = [self.visible(name, arrays[name]) for arrays in (exact, rounded)]
                    self.units[name] = unit(*pair)
                    self.sizes[name] = max(_size(pair[0]), 1e-30)

    def _evidence(self, module):
        """``updates.Evidence`` of the gradient model's step; None if it was not answered."""
        entry = self.models["gradient"]
        shapes = [name for name in self.description.shapes if name not in self.state]
        if not all("gradient/after1/" + name in self.answers for name in shapes):
            return None
        right = {}
        for given in self.simulated(module, "one step"):
            right.update(given)
        start = {name: np.float64(self.arrays[entry["weights"][name]]) for name in shapes}
        moved, zero, zero_start, large, large_right = (OrderedDict() for _ in range(5))
        for name in shapes:
            moved[name] = self.answers["gradient/after1/" + name] - start[name]
            after_zero, after_large = "bright/after1/" + name, "bright/after2/" + name
            if after_zero in self.answers:
                zero_start[name] = self.arrays[self.models["bright"]["weights"][name]]
                zero[name] = np.float64(self.answers[after_zero]) - zero_start[name]
                if after_large in self.answers and after_large in right:
                    large[name] = np.float64(self.answers[after_large]) - self.answers[after_zero]
                    large_right[name] = right[after_large] - right[after_zero]
        step = {name: right["gradient/after1/" + name] - start[name] for name in shapes}
        zero, large = (step if len(step) == len(moved) else {} for step in (zero, large))
        return updates.Evidence(start, moved, step, zero, zero_start, large, large_right)

    def _second(self, module):
        """``updates.Second`` of the momentum model; None if it is missing or has no momentum."""
        entry = self.models["momentum"]
        hp, answers = entry["hyperparameters"], self.answers
        names = [name for name in self.description.shapes if name not in self.state]
        after = ["momentum/after%d/" % step for step in (1, 2)]
        if "momentum" not in hp or not all(
            prefix + name in answers for prefix in after for name in names
        ):
            return None
        right = next(iter(self.simulated(module, "three steps")))
        first, moved, second = {}, {}, {}
        for name in names:
            start = np.float64(self.arrays[entry["weights"][name]])
            after1, after2 = (np.float64(answers[prefix + name]) for prefix in after)
            first[name], moved[name] = after1 - start, after2 - after1
            second[name] = right[after[1] + name] - right[after[0] + name]
        return updates.Second(hp, first, moved, second)

    def _first_update(self):
        """(hyperparameters, weights before, {tensor: update}) of the momentum model's first step.

        None without an answer.
        """
        entry, start, moved = self.models["momentum"], {}, {}
        for name, array in entry["weights"].items():
            if "momentum/after1/" + name not in self.answers:
                return None
            start[name] = np.float64(self.arrays[array])
            moved[name] = self.answers["momentum/after1/" + name] - start[name]
        hp = type(self.description.hp)(**entry["hyperparameters"])
        return hp, start, moved

    def _hypotheses(self, module, stage):
        if stage == "scores":
            return hypotheses.scores(self.description, self.module) + self._came_back()
        if stage == "generation":
            return hypotheses.generation(self.description)
        evidence = self._evidence(module) if stage == "one step" else None
        hp = self.models["gradient"]["hyperparameters"]
        rule = getattr(module, "rule", None)
        conventions = self.challenge["named"]
        adam = "adam" in self.description.traits
        if rule is None and adam and conventions["adam_epsilon"] == "uncorrected":
            rule = hypotheses.optimizer_rule(self.description)
            rule = updates.rebased(rule, updates.epsilon_uncorrected)
        second = self._second(module) if stage == "three steps" else None
        first = self._first_update() if stage == "three steps" else None
        return hypotheses.steps(self.description, conventions, evidence, hp, rule, second, first)

    def _came_back(self):
        """Causes that show in the weights that came back before any step."""
        names = self.models["gradient"]["weights"]
        given = {tensor: self.arrays[name] for tensor, name in names.items()}
        start = "gradient/after0/"
        back = {n[len(start) :]: w for n, w in self.answers.items() if n.startswith(start)}
        return causes.came_back(given, back)

    def findings(self):
        """The ``Finding`` of each stage that is off, up to the first without an explanation."""
        stages = [stage for stage in STAGES if self.answered(stage)]
        for stage in stages:
            self._learn_units(stage)
        return self._explain(self.module, stages, {})

    def nothing(self):
        """Lines of text if there are no findings: how far off each stage is."""
        off = [
            "%s %.3g" % (stage, self.off(self.module, stage))
            for stage in STAGES
            if self.answered(stage)
        ]
        bad = [name for name, array in self.answers.items() if not np.isfinite(array).all()]
        lines = ["no cause found" + ("; off, in tolerances: " + ", ".join(off) if off else "")]
        return lines + ["the answer has NaN or infinity, first in " + name for name in bad[:1]]

    def _explain(self, module, stages, effects):
        """Findings for these stages; ``module`` has the mistakes found so far.

        effects: {stage: how far off it may remain}. With wrong scores, a ReLU or a pool may be at a
        kink that the correct network is far from.
        """
        if not stages:
            return []
        stage, later = stages[0], stages[1:]
        errors = self._errors(module, stage)
        before, enough = max(errors.values(), default=0.0), self._enough(stage, effects)
        if not np.isfinite(before):
            first = self._first_not_finite(stage)
            says = "the answer has NaN or infinity, first in %s" % first if first else ""
            return [Finding.read(UNKNOWN, stage, says, before)]
        if before <= enough:
            return self._small(stage, before) + self._explain(module, later, effects)
        if stage == "scores" and module is self.module and self._are_probabilities():
            return self._behind_a_softmax(module, stages, before)
        fits = self._fits(module, stage, errors, enough)
        if not fits:
            found = self._row_mistake(stage, before) or self._other_optimizer(module, stage, before)
            found = found or Finding.read(UNKNOWN, stage, "", before)
            return [found] + self._beyond(module, stage, later, effects)
        branches = [
            self._branch(module, stage, later, effects, before, fit)
            for fit in sorted(fits, key=lambda fit: fit.after)[:BRANCHES]
        ]
        # If one cause explains all later stages, drop those that do not.
        complete = [branch for branch in branches if branch.complete]
        return _likeliest(
            [
                Chain(
                    branch.cause, branch.left + self._explain(branch.module, later, branch.effects)
                )
                for branch in complete or branches
            ]
        )

    def _beyond(self, module, stage, later, effects):
        """Causes that explain later stages although this one is unknown.

        After wrong scores there are none: every later stage depends on them.
        """
        if stage == "scores" or not all(np.isfinite(self.off(module, name)) for name in later):
            return []
        further = self._explain(module, later, effects)
        return further if all(finding.kind != UNKNOWN for finding in further) else []

    def _other_optimizer(self, module, stage, before):
        """The ``Finding`` of an optimiser that is not the challenge's; None if it is not known."""
        if stage not in ("one step", "three steps", "eight steps"):
            return None
        ours = optimizers.words(self, module, self.answers)
        if ours is None:
            return None
        right = {}
        for simulated in self.simulated(module, "three steps"):
            right.update(simulated)
        if ours == optimizers.words(self, module, right):
            return None
        return Finding.read(CAUSE, stage, "the optimiser is " + ours, before, "optimiser")

    def _are_probabilities(self):
        """Whether all rows of scores are probabilities."""
        return all(are_probabilities(scores) for scores in self.answered("scores").values())

    def _behind_a_softmax(self, module, stages, before):
        """Findings for scores that are probabilities: a softmax, and perhaps a further cause."""
        chains = []
        for made in softmax_causes(self.description):
            wrong = made.make(module)
            cause = Finding.of(made, "scores", before, self.off(wrong, "scores"))
            chains.append(Chain(cause, self._explain(wrong, stages, {})))
        return _likeliest(chains)

    def _small(self, stage, before):
        """Findings for a stage whose error is allowed."""
        kinks = [Finding.read(KINKS, stage, "", before)] if before > SLACK else []
        rows = self._row_mistake(stage, before)
        return kinks + ([rows] if rows else [])

    def _row_mistake(self, stage, before):
        """The ``Finding`` of a mistake in a prediction's rows; None if there is none."""
        mistake = self._rows() if stage == "scores" else None
        if not mistake:
            return None
        return Finding.read(CAUSE, stage, mistake.says, before, mistake.concept)

    def _branch(self, module, stage, later, effects, before, fit):
        """The ``Branch`` of one cause that fits a stage."""
        wrong = fit.cause.make(module)
        self.reused_modules.append(wrong)
        effects = self._effects(module, wrong, stage, later, effects, fit.cause.leaves)
        left = []
        if fit.left > max(SLACK, fit.after):
            left.append(Finding.read(KINKS, stage, "", fit.left))
        complete = all(self.off(wrong, name) <= self._enough(name, effects) for name in later)
        cause = Finding.of(fit.cause, stage, before, fit.after)
        return Branch(cause, left, wrong, effects, complete)

    def _effects(self, module, wrong, stage, later, effects, leaves):
        """{stage: how far off it may remain} after a cause that leaves a share of its error.

        module, wrong: without the cause and with it. Wrong scores may move values across a kink,
        and any mistake may make the errors of rounding larger.
        """
        share = max(0 if self.smooth else NEAR, leaves)
        if stage == "scores" and share:
            times = {name: 3 if name == "three steps" else 1 for name in later}
            effects = {n: times[n] * share * self._apart(module, wrong, n) for n in later}
        if self.smooth and (stage == "scores" or leaves):
            rounding = {name: self._apart(wrong, wrong, name, "float32") for name in later}
            effects = {
                name: max(effects.get(name, 0), SLACK * MULTIPLE * rounding[name]) for name in later
            }
        return effects

    def _first_not_finite(self, stage):
        """The answer's name; None if only the simulation is not finite."""
        answered = self.answered(stage)
        return next((n for n in answered if not np.isfinite(answered[n]).all()), None)

    @staticmethod
    def _enough(stage, effects):
        """How far off an explained answer may be."""
        return max(SLACK, effects.get(stage, 0))

    def _fits(self, module, stage, errors, enough):
        """[``Fit``] of the causes that explain a stage.

        errors: {name: how far off the answer is without another cause}.
        """
        fits = []
        known = self._hypotheses(module, stage)
        before = max(errors.values())
        # Images of the step without gradient may be near kinks: if weights move in it, their exact
        # values are not known.
        moves = any(e > SLACK for name, e in errors.items() if name.startswith(ZERO))
        spare = {n: NEAR * e for n, e in errors.items() if moves and n.startswith(BRIGHT)}
        trained = stage not in ("scores", "generation")
        first_step = self._first_step(module, stage) if trained else None
        for cause in tqdm(known, desc="causes, " + stage, unit="cause", leave=False):
            with np.errstate(all="ignore"):
                wrong, allowed = cause.make(module), max(enough, cause.leaves * before)
                rule = getattr(cause.make, "rule", None)
                if rule and not self._first_step_fits(rule, first_step, allowed):
                    continue
                if stage == "scores" and not self._first_rows_fit(wrong, allowed):
                    continue
                # Float32 is half the work, and refutes most causes.
                for precision, times in (("float32", 2), ("float64", 1)):
                    left = self._errors(wrong, stage, times * allowed, precision, spare)
                    after = _worst(left, spare)
                    if not after <= times * allowed:
                        break
                else:
                    fits.append(Fit(cause, after, max(left.values())))
        return fits

    def _first_rows_fit(self, module, allowed):
        """Whether the first rows of all predictions are close to ``module``'s in float32."""
        answered, rounded = self.answered("scores"), self._configured(module, "float32")
        for model in STAGES["scores"] if answered else ():
            if model in self.models:
                for name, given in self._each_score(rounded, model, lambda n: np.arange(FEW)):
                    if name in answered:
                        if not self._error(name, answered[name][:FEW], given) <= 4 * allowed:
                            return False
        return True

    def _first_step(self, module, stage):
        """(name, module, model, weights) of a stage's first model; its optimiser has gradients."""
        entry = self.models[STAGES[stage][0]]
        batch = next(action["train"][0] for action in entry["do"] if "train" in action)
        wrapped, model = self.unmoved(module, entry, self.arrays, batch)
        _, _, optimizer = model
        weights = {name: w.copy() for name, (w, _) in optimizer.tensors.items()}
        return entry["name"], wrapped, model, weights

    def unmoved(self, module, entry, arrays, batch):
        """(module, model) after a step in float64 that moved nothing; its optimiser has gradients.

        arrays: has the entry's weights. batch: the names of its observations and targets.
        """
        wrapped = self._configured(updates.with_rule(updates.keep_gradients)(module), "float64")
        model, settings = protocol.build(
            entry, arrays, self.description, wrapped, "same", self.threads
        )
        x, y = (self.arrays[name] for name in batch)
        for _ in wrapped.train(model, [wrapped.load(x, y, settings)]):
            pass
        return wrapped, model

    def _first_step_fits(self, rule, first_step, allowed):
        """Whether a rule applied to the gradients gives the answer's first step."""
        name, module, model, weights = first_step
        _, _, optimizer = model
        gradients = {tensor: g.copy() for tensor, g in optimizer.state.items()}
        moved = rule(optimizer.hp, 1, weights, gradients, {})
        for tensor, (w, _) in optimizer.tensors.items():
            w[:] = weights[tensor] + moved.get(tensor, 0)
        for tensor, w in module.weights(model).items():
            answer = "%s/after1/%s" % (name, tensor)
            if answer in self.answers:
                if self._error(answer, self.answers[answer], w) > 2 * allowed:
                    return False
        return True

    def _rows(self):
        """The ``Reading`` of a mistake in a prediction's rows, if the network is right; or None."""
        name = next(iter(self.predictions("gradient")))
        ours = self.answers.get(name)
        if ours is None or not np.isfinite(ours).all():
            return None
        if self.every_row is None:
            rounded = self._configured(self.module, "float32")
            self.every_row = self._scores(rounded, "gradient", np.arange)
        right, ours = (rows.reshape(len(rows), -1) for rows in (self.every_row[name], ours))
        allowed = SLACK * MULTIPLE * self.units[name]
        near = [np.sqrt(((right - row) ** 2).mean(1)) for row in ours]
        wrong = [n for n, distances in enumerate(near) if not distances[n] <= allowed]
        if not wrong:
            return None
        if all(distances.min() <= allowed for distances in near):
            # Equal rows count once: texts may be nothing but padding.
            every = {int(np.sqrt(((right - row) ** 2).mean(1)).argmin()) for row in right}
            if {int(distances.argmin()) for distances in near} == every:
                return Reading("the rows of a prediction are in another order")
            others = self.description.task.observations
            return Reading("%d rows of a prediction are those of other %s" % (len(wrong), others))
        # Some texts are right by chance, such as those of one token: wrong rows are then scattered.
        together = wrong[-1] - wrong[0] + 1 == len(wrong) or not self.transformer
        if len(wrong) < len(ours) and together:
            says = "%d of %d rows of a prediction are wrong, the first is %d, the last %d"
            return Reading(says % (len(wrong), len(ours), wrong[0], wrong[-1]))
        if np.sqrt(((right - ours) ** 2).mean()) > 2.0**-8 * _size(right):
            return None
        if np.array_equal(ours, ours.astype(np.float16)):
            return Reading("scores have the digits of float16 only", "precision")
        if not (ours.view(np.int32) & 0xFFFF).any():
            return Reading("scores have the digits of bfloat16 only", "precision")
        return None


def _likeliest(chains):
    """The findings of the likeliest chain; the first one lists other causes that fit as well."""
    likeliest = min(chains, key=Chain.rank)
    others = [
        chain.cause.says
        for chain in chains
        if chain is not likeliest and chain.continues_like(likeliest)
    ]
    return [likeliest.cause._replace(others=others)] + likeliest.rest


def _worst(errors, spare):
    """The largest of {name: error} that is above its ``spare``."""
    return max((e for name, e in errors.items() if e > spare.get(name, 0)), default=0.0)


def some(n):
    """Indices of the first, the middle and the last of n rows."""
    return np.unique(np.r_[:ROWS, n // 2 : n // 2 + ROWS, n - ROWS : n].clip(0, n - 1))


def _size(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def lines_of(findings):
    """Findings as lines of text."""
    lines, number = [], 0
    for finding in findings:
        if finding.kind == UNKNOWN:
            seen = "first seen in %s: off by %.3g tolerances" % (finding.stage, finding.before)
            lines.append("unknown, " + (finding.says or seen))
        elif finding.kind == UNREAD:
            lines.append("not judged: " + finding.says)
        elif finding.kind == KINKS:
            line = (
                "left in %s: %.3g tolerances, a small part of what the cause does there; ReLUs and "
                "pools at a kink leave that, and so may a small second mistake"
            )
            lines.append(line % (finding.stage, finding.before))
        else:
            number += 1
            says = "; or: ".join([finding.says] + finding.others)
            line = "cause %d, seen in %s: %s" % (number, finding.stage, says)
            if finding.after < finding.before:
                line += " (off by %.3g tolerances without it, %.3g with it)" % (
                    finding.before,
                    finding.after,
                )
            lines.append(line)
            if finding.concept:
                line = "the line for it in each framework: %s, on the page (%s)"
                lines.append(line % (finding.concept, PAGE))
    return lines
