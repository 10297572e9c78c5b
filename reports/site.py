"""The Rosetta page: the modules side by side, the proof and the figures, as a static site."""

import shutil

import jinja2
from markupsafe import Markup

from common.given.models import MODELS
from common.host.machine import described
from reports import figures, phrases, sources, tables
from reports.committed import HERE

SITE = HERE / "site"

SUMMARIES = {
    "head": "what to know first, and the imports",
    "configure": "the framework's switches; the settings in force",
    "load": "NumPy arrays as this framework wants them",
    "symbol": "the network",
    "loss": "cross-entropy, the optimiser, the initial weights",
    "train": "one pass over the batches",
    "predict": "scores of every row",
    "evaluate": "accuracy from scores",
    "weights": "the weights, taken out",
    "wait": "until the device has finished",
}


def machine(used, name):
    """What the page shows of one machine."""
    runs = used.runs
    facts = next(one.result["machine"] for one in runs + used.benches if one.machine == name)
    own = [run for run in runs if run.machine == name]
    lstm, pose = (tables.of_model(own, MODELS[model]) for model in ("lstm", "pose"))
    return {
        "name": name,
        "what": "%s, %.0f GiB" % (described(facts), facts["memory_bytes"] / 2**30),
        "tables": tables.measured(used, name),
        "figures": figures.draw(tables.of_model(runs, MODELS["cnn"]), name)
        + figures.free_run(lstm)
        + figures.found_joints(pose),
    }


def render(used, left_out, folder=SITE):
    """Write the site of what ``committed.read`` gave into ``folder``, anew; its size in bytes."""
    modules, runs = sources.modules(), used.runs
    files = [module for model in MODELS for module in sources.modules(model)]
    code = {one.path: [Markup(line) for line in sources.highlighted(one)] for one in files}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    pages = {
        "index.html": environment.get_template("index.html.j2").render(
            up="",
            modules=modules,
            code=code,
            parts=list(SUMMARIES.items()),
            phrases=phrases.book(modules),
            proofs=tables.proofs(runs),
            networks=tables.networks(),
            divergence=figures.divergence(tables.of_model(runs, MODELS["cnn"])),
            machines=[machine(used, name) for name in tables.machines(used)],
            original=tables.original(),
            differs=tables.differs(),
            left_out=left_out,
        )
    }
    page = environment.get_template("file.html.j2")
    for module in files:
        path = "files/%s.html" % module.path
        up = "../" * path.count("/")
        pages[path] = page.render(up=up, module=module, lines=code[module.path])
    light, dark = sources.styles()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "assets", folder / "assets")
    dark = "@media (prefers-color-scheme: dark) {\n%s\n}\n" % dark
    pages["assets/code.css"] = light + "\n" + dark
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
