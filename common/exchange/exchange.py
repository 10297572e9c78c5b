"""Carry weights from every framework to every other, in their own files, and compare the scores.

Each trains some steps from a seed of its own and saves. In another process each reads its own files
again, and says what the weights are in the canonical form. From that each takes all others' weights
over, predicts the same images, saves what it took, and reads it again. ONNX Runtime runs what can
be written as ONNX.
"""

import json
import os
import tempfile
from collections import OrderedDict

import numpy as np

import frameworks
from common import networks
from common.exchange import worker
from common.networks import weights as canonical
from common.proof.reference import EXACT, MULTIPLE, ROUNDED, Reference, distance, unit
from common.system import commands, environments, machine, modules
from common.system.errors import InputError
from common.system.files import check_writable, now, write_json

ONNX_RUNTIME = "ONNX Runtime"
FAILED = 1  # the exit code where scores differ


def parse(arguments):
    """The command line's options; InputError where it is off."""
    parser = commands.OneLineParser(
        prog="python -m common.exchange", description=__doc__.split("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="environments; all if none")
    parser.add_argument("--model", choices=list(networks.MODELS), default="cnn")
    cores = machine.usable_cores()
    parser.add_argument("--threads", type=commands.thread_count, default=cores, metavar="N")
    parser.add_argument("--out", metavar="RESULT.json", help="the result file")
    options = parser.parse_args(arguments)
    if options.out:
        check_writable(options.out)
    known = [
        name
        for name, one in frameworks.ENVIRONMENTS.items()
        if modules.has(name, options.model) and not one.gpu
    ]
    for name in options.names:
        modules.find(name, options.model)
    options.names = list(OrderedDict.fromkeys(options.names or known))
    if len(options.names) < 2:
        raise InputError("an exchange takes two environments or more")
    return options


def send(what, name, folder, options):
    """Have a worker do its part; InputError with its last line if it fails."""
    print("%-9s%s" % (what, name), flush=True)
    givers = options.names if what == "take" else []
    command = environments.inside(name, "-m", "common.exchange.worker", what, name, folder)
    command += givers + ["--model", options.model, "--threads", str(options.threads)]
    with tempfile.TemporaryFile() as log:
        if commands.call(command, log):
            raise InputError("%s, %s: %s" % (name, what, environments.last_line(log)))


def onnx_scores(path, images):
    """Scores of ``images`` as ONNX Runtime computes them, one by one: some files take no more."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors; old exporters' habits are warnings
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    rows = [session.run(None, {name: images[n : n + 1]})[0] for n in range(len(images))]
    return np.reshape(rows, (len(images), -1))


def compared(folder, options):
    """(rows, tolerances): how far scores are from the giver's own and from the reference's.

    rows: {taker: {giver: figures}}; ONNX Runtime is a taker of those that can be written for it.
    """
    description = networks.find(options.model)
    references = [Reference(description, one, options.threads) for one in (EXACT, ROUNDED)]
    images = worker.observations(description)[2]
    rows = OrderedDict((name, OrderedDict()) for name in options.names + [ONNX_RUNTIME])
    tolerances = OrderedDict()
    for giver in options.names:
        weights = canonical.load(description, os.path.join(folder, giver, "restored.npz"))
        exact, rounded = (one.scores(description.hp, weights, images) for one in references)
        tolerances[giver] = MULTIPLE * unit(exact, rounded)
        scores = {}
        for taker in options.names:
            with np.load(os.path.join(folder, taker, giver + "-scores.npz")) as archive:
                scores[taker] = archive["scores"]
        path = os.path.join(folder, giver, "network.onnx")
        if os.path.isfile(path):
            scores[ONNX_RUNTIME] = onnx_scores(path, images)
        for taker in scores:
            largest = float(np.abs(np.float64(scores[taker]) - scores[giver]).max())
            error = distance(exact, scores[taker])
            rows[taker][giver] = OrderedDict(largest_difference=largest, error=error)
    return rows, tolerances


def off(rows, tolerances):
    """Yield (taker, giver, error) of scores that are not the reference's; NaN is never."""
    for taker, row in rows.items():
        for giver, cell in row.items():
            if not cell["error"] <= tolerances[giver]:
                yield taker, giver, cell["error"]


def result(folder, options):
    """The result, a dict of JSON values."""
    rows, tolerances = compared(folder, options)
    givers = OrderedDict()
    for name in options.names:
        with open(os.path.join(folder, name, "versions.json")) as file:
            versions = json.load(file)
        endings = frameworks.ENVIRONMENTS[name].endings or (".npz",)
        givers[name] = OrderedDict(
            versions=versions, files=list(endings), tolerance=tolerances[name]
        )
    return OrderedDict(
        model=options.model,
        made=now(),
        machine=machine.facts(),
        steps=worker.STEPS,
        observations=worker.IMAGES,
        passed=not list(off(rows, tolerances)),
        frameworks=givers,
        takers=rows,
    )


def told(found):
    """Yield the matrix as lines of text: a row for each taker, a column for each giver."""
    names = list(found["frameworks"])
    yield "largest difference from the giver's own scores; a column for each giver"
    yield " " * 13 + " ".join("%-8s" % name[:8] for name in names)
    for taker, row in found["takers"].items():
        cells = (
            "%-8.1e" % row[giver]["largest_difference"] if giver in row else "-       "
            for giver in names
        )
        yield "%-13s%s" % (taker, " ".join(cells))
    tolerances = {name: one["tolerance"] for name, one in found["frameworks"].items()}
    for taker, giver, error in off(found["takers"], tolerances):
        told = (giver, taker, error, tolerances[giver])
        yield "%s's weights in %s: %.2e, where %.2e is allowed" % told
    if found["passed"]:
        yield "all within the tolerance of the certificate, all files bit for bit"


def command(arguments):
    """Exit code 0 if all scores are the reference's and all weights came back bit for bit."""
    options = parse(arguments)
    environments.make(options.names)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            os.mkdir(os.path.join(folder, name))
        for what in ("give", "restore", "take"):
            for name in options.names:
                send(what, name, folder, options)
        found = result(folder, options)
    for line in told(found):
        print(line)
    if options.out:
        write_json(options.out, found, allow_nan=True)  # a score that is NaN is what was found
    return 0 if found["passed"] else FAILED
