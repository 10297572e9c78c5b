"""Write a challenge for a port, answer it, check an answer, or compare two recordings."""

import argparse
import os
from collections import OrderedDict

import numpy as np

from common import networks
from common.challenge import conventions, direct_evidence, optional, protocol, readme
from common.challenge.answer_certifier import AnswerCertifier
from common.challenge.diagnosis import Diagnosis, lines_of
from common.challenge.replay import Replay
from common.compare import command as comparison
from common.proof import contract, progress
from common.proof.certificate import FAILED
from common.proof.reference import CHOICES, USUAL
from common.proof.reference_cache import ReferenceCache
from common.run import results
from common.system import array_files, commands, machine, modules
from common.system.errors import InputError
from common.system.files import atomic_write, check_writable, write_json

SCRIPT = "challenge.json"
PAGE = "README.md"
ARRAY = "array of this challenge"
VERDICT_VERSION = 1  # of the JSON of check, whose form is in verdict.schema.json
VERDICT = os.path.join(os.path.dirname(__file__), "verdict.schema.json")


def parse(arguments):
    """The command line's options; InputError if they are wrong."""
    parser = commands.OneLineParser(prog="python -m common.challenge", description=__doc__)
    parts = parser.add_subparsers(dest="command", metavar="write|answer|check|compare")
    every = argparse.ArgumentParser(add_help=False)
    commands.add_threads(every)
    about = "write a folder with everything that a port needs"
    write = parts.add_parser("write", parents=[every], help=about)
    write.add_argument("folder", help="the folder to make")
    described = [name for name, model in networks.MODELS.items() if model.challenge]
    write.add_argument("--model", choices=described, default="cnn", help=commands.MODEL_HELP)
    write.add_argument(
        "--named",
        nargs="+",
        default=[],
        metavar="NAME=CHOICE",
        help="conventions of your framework, such as ties=all",
    )
    about = "answer a challenge with one of the frameworks here"
    answer = parts.add_parser("answer", parents=[every], help=about)
    answer.add_argument("folder", help="the challenge")
    answer.add_argument("name", help="the environment")
    answer.add_argument("out", metavar="ANSWER", help=" or ".join(array_files.ENDINGS))
    answer.add_argument(
        "--lane", choices=contract.LANES, default="same", help="the settings (%(default)s)"
    )
    check = parts.add_parser(
        "check",
        parents=[every],
        help="check a port's answer, and look for the cause of a difference",
    )
    check.add_argument("folder", help="the challenge")
    check.add_argument("answer", metavar="ANSWER", help=" or ".join(array_files.ENDINGS))
    check.add_argument("--json", metavar="OUT.json", help="write the verdict as JSON")
    about = "find the first difference between two recordings of any network"
    comparison.add_options(parts.add_parser("compare", help=about))
    options = parser.parse_args(arguments)
    if not options.command:
        raise InputError("choose write, answer, check or compare; --help lists the options")
    if options.command == "write":
        options.named = named(options.named)
    return options


def named(chosen):
    """``Conventions`` of ["name=choice", ...]; InputError for an unknown one."""
    choices = {}
    for convention in chosen:
        name, _, choice = convention.partition("=")
        known = CHOICES._asdict()
        if name not in known:
            raise InputError(
                "--named %s: no such convention; there are %s" % (convention, ", ".join(known))
            )
        if choice not in known[name]:
            raise InputError("--named %s: choose %s" % (convention, " or ".join(known[name])))
        choices[name] = choice
    return USUAL._replace(**choices)


def write(options):
    """Write a challenge's folder; InputError unless it is new or empty."""
    if os.path.isdir(options.folder) and os.listdir(options.folder):
        raise InputError("%s is not empty" % options.folder)
    inside = {
        name: os.path.join(options.folder, name)
        for name in (PAGE, SCRIPT, "challenge.npz", "challenge.safetensors")
    }
    for path in inside.values():
        check_writable(path)
    description = networks.find(options.model)
    machine.limit_threads(options.threads)
    cache = ReferenceCache(description, options.threads)
    certifier = AnswerCertifier(description, options.threads, cache)
    print("the reference answers first", flush=True)
    with progress.reporting(certifier.rungs) as report:
        script, arrays, judged = protocol.record(certifier, options.named, report)
    cache.save()
    if not judged["passed"]:
        raise InputError("the reference fails its own certificate on this machine (see above)")
    for name in ("challenge.npz", "challenge.safetensors"):
        array_files.write(inside[name], arrays)
    scores, _ = certifier.oracle.scores(
        "scores", certifier.oracle.biased, certifier.oracle.test_images
    )
    expected = protocol.expected(script, arrays, description)
    page = readme.render(description, script, options.folder, scores[0], judged, expected)
    with atomic_write(inside[PAGE]) as file:
        file.write(page.encode())
    write_json(inside[SCRIPT], script)  # last: a folder that has it is complete
    print("begin with  %s" % os.path.relpath(inside[PAGE]))
    return 0


def read(folder):
    """(script, arrays, description) of a challenge's folder; InputError if it is damaged."""
    script, description = protocol.read(os.path.join(folder, SCRIPT))
    path = os.path.join(folder, "challenge.npz")
    arrays = array_files.read(path, script["arrays"], ARRAY, ("float32", "int64"))
    for name in script["arrays"]:
        if name not in arrays:
            raise InputError("%s: %s is missing" % (path, name))
    return script, arrays, description


def answer(options):
    """Answer a challenge with a framework's module."""
    array_files.ending(options.out)
    check_writable(options.out)
    script, arrays, description = read(options.folder)
    modules.find(options.name, description.name)
    machine.limit_threads(options.threads)
    module = modules.load(options.name, description.name)
    answers = protocol.carry_out(script, arrays, description, module, options.lane, options.threads)
    array_files.write(options.out, answers)
    print("answer file  %s" % options.out)
    return 0


def check(options):
    """Judge an answer: exit code 0 if no rung failed and at least one was proven, otherwise 3."""
    if options.json:
        check_writable(options.json)
    script, arrays, description = read(options.folder)
    expected = protocol.expected(script, arrays, description)
    answers = array_files.read(options.answer, expected, "answer of this challenge")
    if not answers:
        raise InputError("%s contains no answer" % options.answer)
    machine.limit_threads(options.threads)
    cache = ReferenceCache(description, options.threads)
    certifier = AnswerCertifier(description, options.threads, cache)
    certifier.choose(script["chosen"])
    with progress.reporting(certifier.rungs) as report:
        replay = Replay(script, arrays, answers, description, options.threads)
        judged = certifier.examine(replay, report)
    cache.save()
    for line in missing_lines(judged, expected, description):
        print(line)
    findings = []
    if False in [rung["passed"] for rung in judged["rungs"]]:
        findings, lines = explained(script, arrays, answers, description, judged, options.threads)
        print("\n".join(lines))
    elif conventions.barely(judged):
        nearer = conventions.nearer(script, arrays, answers, description)
        if nearer:
            says = "the losses only just pass; they are nearer in a challenge written with %s"
            print(says % conventions.option(*nearer))
    if options.json:
        verdict = OrderedDict(schema=VERDICT_VERSION, **judged)
        verdict["findings"] = [plain(finding) for finding in findings]
        results.write(options.json, verdict)
    proven = sum(1 for rung in judged["rungs"] if rung["passed"])
    print("%d of %d rungs proven" % (proven, len(judged["rungs"])))
    return 0 if judged["passed"] else FAILED


def missing_lines(judged, expected, description):
    """Yield a line of rungs that lack answers, and one of rungs that lack optional ones only."""
    decide = set(optional.parts(expected, description)[0])
    missing = OrderedDict((rung["rung"], rung["missing"]) for rung in judged["rungs"])
    lacking = [rung for rung, names in missing.items() if decide & set(names)]
    left = [rung for rung, names in missing.items() if names and rung not in lacking]
    if lacking:
        yield "not answered, or only in part: %s" % ", ".join(lacking)
    if left:
        yield "optional, and not answered: %s" % ", ".join(left)


def explained(script, arrays, answers, description, judged, threads):
    """(findings, the same as lines of text) for an answer that failed a rung."""
    diagnosis = Diagnosis(script, arrays, answers, description, threads)
    return explained_by(diagnosis, judged)


def explained_by(diagnosis, judged):
    """The same, by a diagnosis that was begun."""
    script, arrays, answers = diagnosis.script, diagnosis.arrays, diagnosis.answers
    description, findings = diagnosis.description, diagnosis.findings()
    findings += direct_evidence.findings(script, arrays, answers, description, judged, findings)
    return findings, lines_of(findings) or diagnosis.nothing()


def plain(finding):
    """A finding as JSON values, with None for infinity and NaN."""
    values = finding._asdict()
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in values.items()
    }


def command(arguments):
    """Exit code 0; 3 if an answer is wrong or recordings differ."""
    options = parse(arguments)
    known = {"write": write, "answer": answer, "check": check, "compare": comparison.command}
    return known[options.command](options)
