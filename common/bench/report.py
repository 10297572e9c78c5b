"""The result of a bench, and its summary."""

from collections import OrderedDict

import numpy as np

import frameworks
from common import networks
from common.bench import compare, scaling
from common.system import machine
from common.system.files import now

SCHEMA_VERSION = 1
OTHERS_SHOWN = 0.05  # share of the cores' time used by others, above which it is shown


def result(request, records, facts):
    """The result file's content: a dict of JSON values."""
    matmul = float(np.median([one["matmul_flops"] for one in records.rounds]))
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
        if records.facts[key][0]["settings"]["device"] == "cpu":
            operations = per_second * 2 * request.model.step_multiply_adds
            contenders[key]["share_of_matmul"] = operations / matmul
    bfloat16 = [one["bfloat16_flops"] for one in records.rounds if "bfloat16_flops" in one]
    found = OrderedDict(
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
        bandwidth=float(np.median([one["bandwidth"] for one in records.rounds])),
        rounds=records.rounds,
        contenders=contenders,
        scaling=scaling.fits(contenders),
    )
    if bfloat16:
        found["bfloat16_flops"] = float(np.median(bfloat16))
    if records.not_proven:
        found["not_proven"] = records.not_proven
    return found


def summary(found):
    """The comparison in a few lines of text, the fastest first."""
    contenders, noun = found["contenders"], networks.find(found["model"]).task.observations
    row = "%-22s %11s  %-26s %7s %7s %8s  %s"
    heads = ("", noun + "/s", "ratio (95%)", "within", "between", "product", "")
    lines = ["", row % heads]
    for key in sorted(contenders, key=lambda key: -contenders[key]["ratio"]):
        one = contenders[key]
        ratio = "%.3f (%.3f to %.3f)" % ((one["ratio"],) + tuple(one["interval"]))
        spread = ["%.1f%%" % (100 * one[name]) for name in ("within_runs", "between_runs")]
        product = one.get("share_of_matmul")
        cells = [key, "%.0f" % one["per_second"], ratio] + spread
        cells += ["-" if product is None else "%.0f%%" % (100 * product), one["verdict"]]
        lines.append((row % tuple(cells)).rstrip())
    lines.append("within, between: how far the rounds of a run, and the runs, are apart")
    lines += [scaling.line(key, fit, noun) for key, fit in found["scaling"].items()]
    lines += ["left out: %s: %s" % one for one in found.get("not_proven", {}).items()]
    for key, one in contenders.items():
        if max(one["others"]) > OTHERS_SHOWN:
            share = (key, 100 * max(one["others"]))
            lines.append("while %s was timed, others used up to %.0f%% of the cores" % share)
    speeds = [one["matmul_flops"] for one in found["rounds"]]
    figures = (min(speeds) / 1e9, max(speeds) / 1e9, found["bandwidth"] / 1e9)
    lines.append("matrix product %.0f to %.0f GFLOP/s, memory %.0f GB/s" % figures)
    if "bfloat16_flops" in found:
        lines.append("matrix product of bfloat16 %.0f GFLOP/s" % (found["bfloat16_flops"] / 1e9))
    if found["runs"] == 1:
        lines.append("one run: the intervals do not hold what another start would change")
    if not found["precise"]:
        lines.append("not every ratio is as precise as asked for")
    return "\n".join(lines)
