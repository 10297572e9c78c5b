"""The result of a bench, and its summary."""

from collections import OrderedDict

import numpy as np

import frameworks
from common import networks
from common.bench import compare, scaling
from common.system import machine
from common.system.files import now

SCHEMA_VERSION = 1
OTHERS_SHOWN = 0.05  # report other processes that use more than this share of the cores' time


def result(records, facts):
    """The result file's content: a dict of JSON values."""
    request = records.request
    matmul = float(np.median([speed["matmul_flops"] for speed in records.rounds]))
    contenders = OrderedDict()
    for key, times in records.times.items():
        contender = request.contenders[key]
        per_second = 1 / float(np.median(np.concatenate(records.per_image(key))))
        value, interval = records.compared(compare.ratio, key)
        contenders[key] = OrderedDict(
            framework=contender.name,
            lane=contender.lane,
            title=frameworks.ENVIRONMENTS[contender.name].title,
            batch_size=records.sizes[key],
            per_second=per_second,
            ratio=value,
            interval=interval,
            verdict="baseline" if key == request.baseline else compare.verdict(interval),
            within_runs=records.compared(compare.within_runs, key),
            between_runs=records.compared(compare.between_runs, key),
            seconds_per_step=times,
            others=records.others[key],
            processes=records.facts[key],
        )
        settings = records.facts[key][0]["settings"]
        threads = settings["threads"] * contender.workers
        if settings["device"] == "cpu" and threads == request.threads:  # as the product has
            operations = per_second * 2 * request.model.step_multiply_adds
            contenders[key]["share_of_matmul"] = operations / matmul
    products = [speed.get("bfloat16_flops") for speed in records.rounds]
    content = OrderedDict(
        schema=SCHEMA_VERSION,
        made=now(),
        machine=facts,
        versions=machine.versions("numpy"),
        model=request.model.name,
        threads=request.threads,
        batch_size=request.model.hp.batch_size,
        baseline=request.baseline,
        runs=request.runs,
        precision=request.precision,
        precise=records.precise(),
        matmul_flops=matmul,
        bandwidth=float(np.median([speed["bandwidth"] for speed in records.rounds])),
        rounds=records.rounds,
        contenders=contenders,
        scaling=scaling.fits(contenders),
    )
    if any(products):
        content["bfloat16_flops"] = float(np.median([flops for flops in products if flops]))
    if records.not_proven:
        content["not_proven"] = records.not_proven
    return content


def summary(result):
    """The comparison as a few lines of text, the fastest first."""
    contenders, noun = result["contenders"], networks.find(result["model"]).task.observations
    row = "%-22s %11s  %-26s %7s %7s %8s  %s"
    heads = ("", noun + "/s", "ratio (95%)", "within", "between", "product", "")
    lines = ["", row % heads]
    for key in sorted(contenders, key=lambda key: -contenders[key]["ratio"]):
        contender = contenders[key]
        ratio = "%.3f (%.3f to %.3f)" % (contender["ratio"], *contender["interval"])
        logs = [contender[name] for name in ("within_runs", "between_runs")]
        spread = ["%.1f%%" % (100 * value) for value in np.expm1(logs)]
        product = contender.get("share_of_matmul")
        cells = [key, "%.0f" % contender["per_second"], ratio] + spread
        cells += ["-" if product is None else "%.0f%%" % (100 * product), contender["verdict"]]
        lines.append((row % tuple(cells)).rstrip())
    lines.append("within, between: the spread of the rounds of a run, and of the runs")
    lines += [scaling.line(key, fit, noun) for key, fit in result["scaling"].items()]
    lines += ["left out: %s: %s" % pair for pair in result.get("not_proven", {}).items()]
    for key, contender in contenders.items():
        if max(contender["others"]) > OTHERS_SHOWN:
            share = (key, 100 * max(contender["others"]))
            lines.append("while %s was timed, others used up to %.0f%% of the cores" % share)
    speeds = [speed["matmul_flops"] for speed in result["rounds"]]
    figures = (min(speeds) / 1e9, max(speeds) / 1e9, result["bandwidth"] / 1e9)
    lines.append("matrix product %.0f to %.0f GFLOP/s, memory %.0f GB/s" % figures)
    if "bfloat16_flops" in result:
        lines.append("matrix product of bfloat16 %.0f GFLOP/s" % (result["bfloat16_flops"] / 1e9))
    if result["runs"] == 1:
        lines.append("one run: the intervals do not cover the effect of a restart")
    if not result["precise"]:
        lines.append("not every ratio has the requested precision")
    return "\n".join(lines)
