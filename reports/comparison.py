"""The runs as the page compares them: what was measured of each, and where it comes from."""

import frameworks
from common.networks import ALL
from common.system.machine import described
from reports import tables
from reports.provenance import data
from reports.table import kind, module_is_as_it_was

# What can be compared. zero: bars begin at 0; less: the least is the best; timed: a time, which
# needs a passed certificate.
METRICS = {
    "speed": {
        "title": "images per second",
        "says": "The batch size over the median time of a step, in the steady state: compilation "
        "and the first steps are left out. The interval is that of the steps' quartiles.",
        "best": "Fastest",
        "noun": " NOUN a second",
        "interval": "quartiles",
        "unit": "",
        "digits": 0,
        "zero": True,
        "less": False,
        "timed": True,
    },
    "accuracy": {
        "title": "accuracy",
        "says": "On the test images, with its 95% interval (Wilson), which holds the test "
        "images' part of the uncertainty alone: dropout's random numbers are each framework's "
        "own, and move an accuracy by as much again.",
        "best": "Highest",
        "noun": "",
        "interval": "intervals",
        "unit": "%",
        "digits": 2,
        "zero": False,
        "less": False,
        "timed": False,
    },
    "share": {
        "title": "share of the matrix product",
        "says": "Training's multiplications and additions a second, as a share of those that "
        "NumPy's own product of two 2048 × 2048 float32 matrices reaches in the same run: a "
        "speed that can be compared between machines and hours.",
        "best": "Highest share",
        "noun": " of the matrix product",
        "interval": "",
        "unit": "%",
        "digits": 0,
        "zero": True,
        "less": False,
        "timed": True,
    },
    "train": {
        "title": "seconds to train",
        "says": "All epochs, the first step and its compilation included, prediction not.",
        "best": "Shortest",
        "noun": "",
        "interval": "",
        "unit": " s",
        "digits": 0,
        "zero": True,
        "less": True,
        "timed": True,
    },
    "first": {
        "title": "seconds of the first step",
        "says": "With what compiles, traces and tunes.",
        "best": "Shortest",
        "noun": "",
        "interval": "",
        "unit": " s",
        "digits": 2,
        "zero": True,
        "less": True,
        "timed": True,
    },
    "memory": {
        "title": "peak memory",
        "says": "The most resident memory of the process, data set and interpreter included.",
        "best": "Least",
        "noun": "",
        "interval": "",
        "unit": " GB",
        "digits": 2,
        "zero": True,
        "less": True,
        "timed": False,
    },
}


def run(one):
    """A committed run; figures are lists of the value and, where there is one, its interval."""
    result = one.result
    certificate, times = result["certificate"], result["timings"]
    batch = result["hyperparameters"]["batch_size"]
    framework = frameworks.ENVIRONMENTS.get(result["framework"])
    share, memory = times.get("share_of_matmul"), result.get("peak_memory_bytes")
    found = {
        "title": framework.title if framework else result["title"],
        "path": one.path,
        "machine": one.machine,
        "model": result.get("model", "cnn"),
        "noun": ALL[result.get("model", "cnn")].task.observations,
        "lane": result["lane"],
        "kind": kind(result),
        "length": result["dataset"]["train_images"] * result["hyperparameters"]["epochs"],
        "data": data(result["dataset"]),
        "made": result["made"][:10],
        "changed": not module_is_as_it_was(result),
        "what": described(result["machine"]),
        "from": "version %s, %s" % (result["versions"]["framework"], result["made"][:10]),
        "proven": certificate["passed"],
        "passed": sum(rung["passed"] for rung in certificate["rungs"]),
        "rungs": len(certificate["rungs"]),
        "memory": [memory / 1e9] if memory else None,
        "accuracy": None,
    }
    if "accuracy" in result:
        ends = [result["accuracy"]["value"]] + result["accuracy"]["interval"]
        found["accuracy"] = [100 * end for end in ends]
    if certificate["passed"]:  # no time without it
        step = times["step"]
        found["speed"] = [batch / step["median"]] + sorted(batch / end for end in step["quartiles"])
        found["share"] = None if share is None else [100 * share]
        found["train"], found["first"] = [times["train"]], [times["first_step"]]
        found["product"] = times["matmul_flops"] / 1e9 if "matmul_flops" in times else None
    return found


def comparison(used):
    """What the page's script compares, and what it may choose from."""
    runs = [run(one) for one in tables.ordered(used.runs)]
    models = {one["model"] for one in runs}
    return {
        "runs": runs,
        "metrics": METRICS,
    }, [(name, model.title) for name, model in ALL.items() if name in models]
