"""Write a challenge for a port, answer it, check an answer, or compare two recordings."""

import argparse
import itertools
import os
from collections import OrderedDict
from typing import NamedTuple, Optional

import numpy as np

from common import networks
from common.challenge import conventions, direct_evidence, optional, protocol, readme
from common.challenge.answer_certifier import AnswerCertifier
from common.challenge.diagnosis import Diagnosis, lines_of
from common.challenge.replay import Replay
from common.compare import command as comparison
from common.proof import contract, progress
from common.proof.certificate import FAILED
from common.proof.reference import CHOICES, USUAL, Conventions, applicable
from common.proof.reference_cache import ReferenceCache
from common.run import results
from common.system import array_files, commands, machine, modules
from common.system.errors import InputError
from common.system.files import atomic_write, check_writable, write_json

CHALLENGE = "challenge.json"
PAGE = "README.md"
ARRAY = "array of this challenge"
VERDICT_VERSION = 1  # of check's JSON; verdict.schema.json describes it
VERDICT = os.path.join(os.path.dirname(__file__), "verdict.schema.json")


class Write(NamedTuple):
    """A challenge to write."""

    folder: str
    model: str
    conventions: Conventions
    threads: int


class Answer(NamedTuple):
    """An answer to make with the module of an environment, ``name``."""

    folder: str
    name: str
    out: str
    lane: str
    threads: int


class Check(NamedTuple):
    """An answer to check. json: where to write the verdict, or None."""

    folder: str
    answer: str
    json: Optional[str]
    threads: int


def parse(arguments):
    """(command, job) of a command line; InputError if it is wrong."""
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
        action="append",
        default=[],
        metavar="NAME=CHOICE",
        help="conventions of your framework that the network has, such as ties=all",
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
    values = dict(vars(options))
    name = values.pop("command")
    if not name:
        raise InputError("choose write, answer, check or compare; --help lists the options")
    if name == "write":
        named = itertools.chain.from_iterable(values.pop("named"))
        values["conventions"] = conventions_from(named, networks.find(options.model))
    jobs = {"write": Write, "answer": Answer, "check": Check}
    return name, jobs[name](**values) if name in jobs else options


def conventions_from(named, description):
    """``Conventions`` of ["name=choice", ...]; InputError for one that the network lacks."""
    choices, known, has = {}, CHOICES._asdict(), applicable(description)
    for convention in named:
        name, _, choice = convention.partition("=")
        if name not in known:
            raise InputError(
                "--named %s: no such convention; there are %s" % (convention, ", ".join(known))
            )
        if choice not in known[name]:
            raise InputError("--named %s: choose %s" % (convention, " or ".join(known[name])))
        if name not in has:
            raise InputError(
                "--named %s: %s has only %s"
                % (convention, description.name, ", ".join(has) or "no conventions")
            )
        if choices.get(name, choice) != choice:
            raise InputError("--named %s: it is %s already" % (convention, choices[name]))
        choices[name] = choice
    return USUAL._replace(**choices)


def write(job):
    """Write a challenge's folder; InputError unless it is new or empty."""
    if os.path.isdir(job.folder) and os.listdir(job.folder):
        raise InputError("%s is not empty" % job.folder)
    inside = {
        name: os.path.join(job.folder, name)
        for name in (PAGE, CHALLENGE, "challenge.npz", "challenge.safetensors")
    }
    for path in inside.values():
        check_writable(path)
    description = networks.find(job.model)
    machine.limit_threads(job.threads)
    cache = ReferenceCache(description, job.threads)
    certifier = AnswerCertifier(description, job.threads, cache)
    print("the reference answers first", flush=True)
    with progress.reporting(certifier.rungs) as report:
        challenge, arrays, judged = protocol.record(certifier, job.conventions, report)
    cache.save()
    if not judged["passed"]:
        raise InputError("the reference fails its own certificate on this machine (see above)")
    for name in ("challenge.npz", "challenge.safetensors"):
        array_files.write(inside[name], arrays)
    scores, _ = certifier.oracle.scores(
        "scores", certifier.oracle.biased, certifier.oracle.test_images
    )
    expected = protocol.expected(challenge, arrays, description)
    page = readme.render(description, challenge, job.folder, scores[0], judged, expected)
    with atomic_write(inside[PAGE]) as file:
        file.write(page.encode("utf-8", "surrogateescape"))  # it names the folder
    write_json(inside[CHALLENGE], challenge)  # last: a folder that has it is complete
    print("begin with  %s" % os.path.relpath(inside[PAGE]))
    return 0


def read(folder):
    """(challenge, arrays, description) of a challenge's folder; InputError if it is damaged."""
    challenge, description = protocol.read(os.path.join(folder, CHALLENGE))
    path = os.path.join(folder, "challenge.npz")
    arrays = array_files.read(path, challenge["arrays"], ARRAY, ("float32", "int64"))
    for name in challenge["arrays"]:
        if name not in arrays:
            raise InputError("%s: %s is missing" % (path, name))
    return challenge, arrays, description


def answer(job):
    """Answer a challenge with a framework's module."""
    array_files.ending(job.out)
    check_writable(job.out)
    challenge, arrays, description = read(job.folder)
    modules.find(job.name, description.name)
    machine.limit_threads(job.threads)
    module = modules.load(job.name, description.name)
    answers = protocol.carry_out(challenge, arrays, description, module, job.lane, job.threads)
    array_files.write(job.out, answers)
    print("answer file  %s" % job.out)
    return 0


def check(job):
    """Judge an answer: exit code 0 if no rung failed and at least one was proven, otherwise 3."""
    if job.json:
        check_writable(job.json)
    challenge, arrays, description = read(job.folder)
    expected = protocol.expected(challenge, arrays, description)
    answers = array_files.read(job.answer, expected, "answer of this challenge")
    if not answers:
        raise InputError("%s contains no answer" % job.answer)
    machine.limit_threads(job.threads)
    cache = ReferenceCache(description, job.threads)
    certifier = AnswerCertifier(description, job.threads, cache)
    certifier.choose(challenge["chosen"])
    with progress.reporting(certifier.rungs) as report:
        replay = Replay(challenge, arrays, answers, description, job.threads)
        judged = certifier.examine(replay, report)
    cache.save()
    for line in missing_lines(judged, expected, description):
        print(line)
    findings = []
    if False in [rung["passed"] for rung in judged["rungs"]]:
        diagnosis = Diagnosis(challenge, arrays, answers, description, job.threads)
        findings, lines = explained(diagnosis, judged)
        print("\n".join(lines))
    elif conventions.barely(judged):
        nearer = conventions.nearer(challenge, arrays, answers, description)
        if nearer:
            says = "the losses only just pass; they are nearer in a challenge written with %s"
            print(says % protocol.option(*nearer))
    if job.json:
        verdict = OrderedDict(schema=VERDICT_VERSION, **judged)
        verdict["findings"] = [plain(finding) for finding in findings]
        results.write(job.json, verdict)
    proven = sum(1 for rung in judged["rungs"] if rung["passed"])
    print("%d of %d rungs proven" % (proven, len(judged["rungs"])))
    return 0 if judged["passed"] else FAILED


def missing_lines(judged, expected, description):
    """Yield a line for rungs that lack answers, and one for rungs that lack only optional ones."""
    decide = set(optional.parts(expected, description)[0])
    missing = OrderedDict((rung["rung"], rung["missing"]) for rung in judged["rungs"])
    lacking = [rung for rung, names in missing.items() if decide & set(names)]
    left = [rung for rung, names in missing.items() if names and rung not in lacking]
    if lacking:
        yield "not answered, or only in part: %s" % ", ".join(lacking)
    if left:
        yield "optional, and not answered: %s" % ", ".join(left)


def explained(diagnosis, judged):
    """(findings, the same as lines of text) for an answer that failed a rung."""
    asked = diagnosis.challenge, diagnosis.arrays, diagnosis.answers, diagnosis.description
    findings = diagnosis.findings()
    findings += direct_evidence.findings(*asked, judged, findings)
    return findings, lines_of(findings) or diagnosis.nothing()


def plain(finding):
    """A finding as JSON values; None stands for infinity and NaN."""
    values = finding._asdict()
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in values.items()
    }


def command(arguments):
    """Exit code 0; 3 if an answer is wrong or recordings differ."""
    name, job = parse(arguments)
    known = {"write": write, "answer": answer, "check": check, "compare": comparison.command}
    return known[name](job)
