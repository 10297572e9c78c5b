"""Move weights from every framework to every other, in their own files, and compare the scores.

Each framework trains some steps from its own seed and saves its weights. In another process it
reads these files back and writes the weights in canonical form. Then each framework takes the
weights of all others, predicts the same images, saves the weights and reads them back. ONNX Runtime
runs the networks that can be exported to ONNX.
"""

import json
import os
import sys
import tempfile
from collections import OrderedDict
from typing import List, NamedTuple, Optional

import numpy as np

import frameworks
from common import networks
from common.exchange import worker
from common.networks import weights as canonical
from common.networks.model import Model
from common.proof.reference import EXACT, MULTIPLE, ROUNDED, Reference, distance, unit
from common.system import commands, environments, machine, modules
from common.system.errors import InputError
from common.system.files import check_writable, now, write_json

ONNX_RUNTIME = "ONNX Runtime"
FAILED = 1  # the exit code if scores differ or a framework failed
MAKE = "make"  # the step before a worker's own


class TooFew(Exception):
    """Fewer than two frameworks are left; the message says what became of the others."""


class Request(NamedTuple):
    """A requested exchange. ``names`` are environments; ``out`` is a path or None."""

    names: List[str]
    model: Model
    threads: int
    out: Optional[str] = None


def parse(arguments):
    """The request of a command line; InputError if it is not valid."""
    parser = commands.OneLineParser(
        prog="python -m common.exchange",
        description="Carry weights from each framework to each other in the frameworks' own "
        "files, and compare scores.",
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="environments; default: all that need no GPU")
    add("--model", choices=list(networks.MODELS), default="cnn", help=commands.MODEL_HELP)
    commands.add_threads(parser)
    add("--out", metavar="RESULT.json", help="write the result to this file")
    options = parser.parse_args(arguments)
    if options.out:
        check_writable(options.out)
    for name in options.names:
        modules.find(name, options.model)
    every = [
        name
        for name, environment in frameworks.ENVIRONMENTS.items()
        if modules.has(name, options.model) and not environment.gpu
    ]
    names = list(OrderedDict.fromkeys(options.names or every))
    if len(names) < 2:
        raise InputError("an exchange needs at least two environments")
    return Request(names, networks.find(options.model), options.threads, options.out)


def run_worker(step, name, folder, request):
    """Run a step in a framework's environment; return the last line of one that fails, or None."""
    print("%-9s%s" % (step, name), flush=True)
    givers = request.names if step == "take" else []
    command = environments.inside(name, "-m", "common.exchange.worker", step, name, folder)
    command += givers + ["--model", request.model.name, "--threads", str(request.threads)]
    with tempfile.TemporaryFile() as log:
        return environments.last_line(log) if commands.call(command, log) else None


def onnx_scores(path, images, shape):
    """Scores (n, *shape) of ``images`` by ONNX Runtime.

    It gets one image at a time, because some files take only one.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors; old exporters cause warnings
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    rows = [session.run(None, {name: images[n : n + 1]})[0] for n in range(len(images))]
    return np.reshape(rows, (len(images),) + tuple(shape))


def compare(folder, request):
    """(rows, tolerances): how far scores are from the giver's own and from the reference's.

    rows: {taker: {giver: figures}}; ONNX Runtime takes the networks that are exported to ONNX.
    """
    model = request.model
    references = [Reference(model, kind, request.threads) for kind in (EXACT, ROUNDED)]
    images = worker.observations(model)[2]
    rows = OrderedDict((name, OrderedDict()) for name in request.names + [ONNX_RUNTIME])
    tolerances = OrderedDict()
    for giver in request.names:
        weights = canonical.load(model, os.path.join(folder, giver, "restored.npz"))
        exact, rounded = (ref.scores(model.hp, weights, images) for ref in references)
        tolerances[giver] = MULTIPLE * unit(exact, rounded)
        scores = {}
        for taker in request.names:
            with np.load(os.path.join(folder, taker, giver + "-scores.npz")) as archive:
                scores[taker] = archive["scores"]
        path = os.path.join(folder, giver, "network.onnx")
        if os.path.isfile(path):
            try:
                scores[ONNX_RUNTIME] = onnx_scores(path, images, scores[giver].shape[1:])
            except Exception as error:  # as any other wrong scores: the rest is worth an hour
                print("%s: ONNX Runtime cannot read it: %s" % (path, error), flush=True)
                scores[ONNX_RUNTIME] = np.full_like(scores[giver], np.nan)
        for taker in scores:
            largest = float(np.abs(np.float64(scores[taker]) - scores[giver]).max())
            error = distance(exact, scores[taker])
            rows[taker][giver] = OrderedDict(largest_difference=largest, error=error)
    return rows, tolerances


def failures(rows, tolerances):
    """Yield (taker, giver, error) for scores beyond the tolerance, including NaN."""
    for taker, row in rows.items():
        for giver, cell in row.items():
            if not cell["error"] <= tolerances[giver]:
                yield taker, giver, cell["error"]


def carry(folder, request):
    """Let each framework do its steps; (request without those that failed, {name: why}).

    A step before them makes its environment. ``TooFew`` if fewer than two are left.
    """
    left_out = OrderedDict()
    for step in (MAKE,) + tuple(worker.STEPS):
        for name in request.names:
            if step == MAKE:
                line = environments.fault(name)
            else:
                line = run_worker(step, name, folder, request)
            if line is not None:
                left_out[name] = "%s: %s" % (step, line)
                print("%s is left out, %s" % (name, left_out[name]), flush=True)
                names = [each for each in request.names if each not in left_out]
                request = request._replace(names=names)
        if len(request.names) < 2:
            raise TooFew("; ".join("%s, %s" % failed for failed in left_out.items()))
    return request, left_out


def result(folder, request, left_out=()):
    """The result, a dict of JSON values. left_out: {the name of who failed: why}."""
    rows, tolerances = compare(folder, request)
    givers = OrderedDict()
    for name in request.names:
        with open(os.path.join(folder, name, "versions.json")) as file:
            versions = json.load(file)
        endings = frameworks.ENVIRONMENTS[name].endings or (".npz",)
        givers[name] = OrderedDict(
            versions=versions, files=list(endings), tolerance=tolerances[name]
        )
    return OrderedDict(
        model=request.model.name,
        made=now(),
        machine=machine.facts(),
        steps=worker.TRAINING_STEPS,
        observations=worker.predicted(request.model),
        passed=not left_out and not list(failures(rows, tolerances)),
        left_out=OrderedDict(left_out),
        frameworks=givers,
        takers=rows,
    )


def summary(result):
    """Yield the matrix as lines of text: a row for each taker, a column for each giver."""
    names = list(result["frameworks"])
    yield "largest difference from the giver's own scores; a column for each giver"
    wide = max(8, *map(len, names))
    yield " " * 13 + " ".join(name.ljust(wide) for name in names)
    for taker, row in result["takers"].items():
        cells = (
            "%.1e" % row[giver]["largest_difference"] if giver in row else "-" for giver in names
        )
        yield "%-13s%s" % (taker, " ".join(cell.ljust(wide) for cell in cells))
    tolerances = {name: giver["tolerance"] for name, giver in result["frameworks"].items()}
    for taker, giver, error in failures(result["takers"], tolerances):
        values = (giver, taker, error, tolerances[giver])
        yield "%s's weights in %s: %.2e, where %.2e is allowed" % values
    for failed in result["left_out"].items():
        yield "%s is left out, %s" % failed
    if result["passed"]:
        yield "all within the tolerance of the certificate, all files bit for bit"


def command(arguments):
    """Exit code 0 if all scores match the reference's and all weights came back bit for bit.

    A framework that fails is left out, and the exit code is 1.
    """
    request = parse(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for name in request.names:
            os.mkdir(os.path.join(folder, name))
        try:
            carried = result(folder, *carry(folder, request))
        except TooFew as error:
            print("error: %s" % error, file=sys.stderr)
            return FAILED
    print("\n".join(summary(carried)))
    if request.out:
        write_json(request.out, carried, allow_nan=True)  # a score may be NaN
    return 0 if carried["passed"] else FAILED
