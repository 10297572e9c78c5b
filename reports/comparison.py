"""The runs as the page compares them: their figures, and where these come from."""

import frameworks
from common.networks import ALL
from common.run.results import proven
from common.system.machine import described
from reports import tables
from reports.provenance import data
from reports.table import initial, kind, module_is_as_it_was


def _metric(**given):
    """A figure to compare.

    zero: bars begin at 0; less: the least is the best; timed: a time, which needs a passed
    certificate.
    """
    usual = {"noun": "", "interval": "", "unit": "", "digits": 0}
    usual.update(zero=True, less=False, timed=True)
    return dict(usual, **given)


METRICS = {
    "speed": _metric(
        title="images per second",
        says="The batch size divided by the median time of a step, without compilation and the "
        "first steps. The interval is given by the quartiles of the steps.",
        best="Fastest",
        noun=" NOUN a second",
        interval="quartiles",
    ),
    "accuracy": _metric(
        title="accuracy",
        says="On the test images, with a 95% interval (Wilson) for the choice of test images. "
        "Dropout draws different random numbers in each framework, and this changes an accuracy "
        "about as much as the choice of images does.",
        best="Highest",
        interval="intervals",
        unit="%",
        digits=2,
        zero=False,
        timed=False,
    ),
    "share": _metric(
        title="share of the matrix product",
        says="Training's multiply-adds per second, relative to NumPy's product of two 2048 × "
        "2048 float32 matrices in the same run. This can be compared between machines.",
        best="Highest share",
        noun=" of the matrix product",
        unit="%",
    ),
    "train": _metric(
        title="seconds to train",
        says="All epochs with the first step and its compilation, without prediction.",
        best="Shortest",
        unit=" s",
        less=True,
    ),
    "first": _metric(
        title="seconds of the first step",
        says="With compilation, tracing and tuning.",
        best="Shortest",
        unit=" s",
        digits=2,
        less=True,
    ),
    "memory": _metric(
        title="peak memory",
        says="The largest resident memory of the process, with data set and interpreter.",
        best="Least",
        unit=" GB",
        digits=2,
        less=True,
        timed=False,
    ),
}


def run(committed):
    """A committed run; figures are lists of the value and, where there is one, its interval."""
    result = committed.result
    certificate, times = result["certificate"], result["timings"]
    batch = result["hyperparameters"]["batch_size"]
    framework = frameworks.ENVIRONMENTS.get(result["framework"])
    share, memory = times.get("share_of_matmul"), result.get("peak_memory_bytes")
    shown = {
        "title": framework.title if framework else result["title"],
        "path": committed.path,
        "machine": committed.machine,
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
        "proven": proven(result),
        "passed": sum(rung["passed"] for rung in certificate["rungs"]),
        "rungs": len(certificate["rungs"]),
        "memory": [memory / 1e9] if memory else None,
        "accuracy": None,
    }
    if "accuracy" in result:
        ends = [result["accuracy"]["value"]] + result["accuracy"]["interval"]
        shown["accuracy"] = [100 * end for end in ends]
    if shown["proven"]:  # else no time is shown
        step = times["step"]
        shown["speed"] = [batch / step["median"]] + sorted(batch / end for end in step["quartiles"])
        shown["share"] = None if share is None else [100 * share]
        shown["train"], shown["first"] = [times["train"]], [times["first_step"]]
        shown["product"] = times["matmul_flops"] / 1e9 if "matmul_flops" in times else None
    return shown


def comparison(used):
    """(what the page's script compares, the networks to choose from)."""
    runs = [run(committed) for committed in tables.ordered(used.runs)]
    models = {shown["model"] for shown in runs}
    networks = [(name, model.title) for name, model in ALL.items() if name in models]
    usual = {
        name: {"weights": initial(model), "dropout": bool(model.hp.dropout)}
        for name, model in ALL.items()
    }
    return {"runs": runs, "metrics": METRICS, "usual": usual}, networks
