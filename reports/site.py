"""The Rosetta page: the modules side by side, the proof and the results, as a static site."""

import json
import shutil
import zipfile

import jinja2
from markupsafe import Markup, escape

import frameworks
from common.networks import ALL, MODELS
from common.system import modules as known_modules
from common.system.machine import described
from reports import aligned, comparison, concepts, figures, phrases, port, reading, sources, tables
from reports.committed import HERE, RUNS
from reports.provenance import provenance
from reports.table import CODE, pieces

SITE = HERE / "site"

LEAD = (
    "The same convolutional network in %d frameworks, concept beside concept, and proven to be the "
    "same: the same batches and weights, and from there the same scores, gradients, updates and "
    "losses as a float64 reference, to within the rounding of float32."
)

# (id, title, template); the first has its own place in the page.
SECTIONS = (
    ("code", "Side by side", None),
    ("port", "My port is off", "port.html.j2"),
    ("results", "Results", "results.html.j2"),
    ("proof", "Proof", "proof.html.j2"),
    ("phrase-book", "Phrase book", "phrases.html.j2"),
    ("networks", "Further networks", "networks.html.j2"),
    ("original", "Beside the original", "original.html.j2"),
)

# Further words that find a part.
WORDS = {
    "port": "bug wrong diagnosis challenge mistake",
    "results": "fastest fast speed time slow accuracy bench compare",
    "proof": "certificate rung tolerance proven",
}


def broadest(modules):
    """The modules but for the reference's, those of frameworks with the most networks first."""
    others = [module for module in modules if module.key != frameworks.REFERENCE]
    return sorted(others, key=lambda module: -len(known_modules.models(module.key)))


def carried():
    """Two environments with weight files of their own: of a dead framework, and of a living one."""
    known = [
        environment
        for environment in frameworks.ENVIRONMENTS.values()
        if environment.endings and not environment.gpu
    ]
    dead = [
        environment
        for environment in known
        if not frameworks.FRAMEWORKS[environment.folder].maintained
    ]
    return dead[0], next(environment for environment in known if environment not in dead)


def machine(used, name):
    """The page's part for one machine."""
    runs = used.runs
    facts = next(
        committed.result["machine"] for committed in sum(used, []) if committed.machine == name
    )
    own = [run for run in runs if run.machine == name]
    measured = [tables.results(runs, name, model) for model in ALL.values()]
    return {
        "name": name,
        "what": "%s, %.0f GiB" % (described(facts), facts["memory_bytes"] / 2**30),
        "tables": [table for table in measured if table.rows],
        "figures": figures.learning(tables.of_model(runs, MODELS["cnn"]), name)
        + [figure for model in MODELS.values() for figure in figures.sample(own, model)],
    }


def proof(runs, model):
    """The certificates of one network, with a verdict in a sentence; None without a run."""
    table = tables.shares(runs, model)
    if not table:
        return None
    whole = sum(row["passed"] == row["of"] for row in table["rows"])
    count = len(table["rows"])
    verdict = "✓ %s passed every rung." % ("All %d runs" % count if count > 1 else "The run")
    if whole < count:
        verdict = "✗ %d of %d runs failed." % (count - whole, count)
    runs = table.pop("runs")
    return dict(table, verdict=verdict, provenance=provenance(runs))


def prose(text):
    """``text`` as HTML; text between backticks as code."""
    parts = [
        Markup("<code>{}</code>").format(part) if kind is CODE else escape(part)
        for kind, part in pieces(text)
    ]
    return Markup("").join(parts)


def packed(challenge, folder):
    """Zip a challenge's folder into the site; (its name, its size for people), or (None, "").

    ``tox run -e challenge`` writes the challenge, which is large.
    """
    if challenge is None:
        return None, ""
    path = folder / "challenge.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(challenge.iterdir()):
            archive.write(file, "challenge/" + file.name)
    return path.name, "%.0f MB" % (path.stat().st_size / 1e6)


def render(used, left_out, folder=SITE, challenge=None):
    """Write the site into an emptied ``folder``; return its size in bytes.

    used, left_out: as ``committed.read`` returns them.
    challenge: the folder of a challenge to offer for download, or None.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "assets", folder / "assets")
    offered, size = packed(challenge, folder)
    modules, runs = sources.modules(), used.runs
    first = [module.key for module in broadest(modules)[:2]]
    read = reading.read(modules)
    cnn = tables.of_model(runs, MODELS["cnn"])
    compared, models = comparison.comparison(used)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["prose"] = prose
    planted = [model for model in MODELS.values() if tables.planted(model)]
    pages = {
        "index.html": environment.get_template("index.html.j2").render(
            up="",
            lead=LEAD % len(modules),
            sections=SECTIONS,
            modules=modules,
            first=first,
            steps=aligned.rows("cnn", modules, read),
            whole={module.key: aligned.whole(module, read[module.key]) for module in modules},
            titles={concept.key: concept.title for concept in concepts.rows("cnn")},
            symptoms=port.symptoms(modules),
            carried=carried(),
            known=port.known(),
            first_losses=port.losses(used),
            challenge=offered,
            challenge_size=size,
            benches=[table for name in tables.machines(used) for table in tables.timed(used, name)],
            metrics=comparison.METRICS,
            models=models,
            machines=[machine(used, name) for name in tables.machines(used)],
            left_out=left_out,
            shares=[table for table in (proof(runs, model) for model in ALL.values()) if table],
            proves={rung: proves for rung, (_, proves, _) in port.RUNGS.items()},
            divergence=figures.divergence(cnn) if cnn else None,
            planted_says=tables.planted_says(MODELS["cnn"]),
            planted=[
                make(model) for model in planted for make in (tables.mistakes, tables.own_mistakes)
            ],
            phrases=[
                (concept, list(zip(modules, said))) for concept, said in phrases.book(modules)
            ],
            networks=tables.networks(),
            files=tables.files(),
            diagnosed=[table for table in map(tables.diagnosed, MODELS.values()) if table],
            exchanges=[table for table in map(tables.exchanged, MODELS.values()) if table],
            original=tables.original(runs),
            differs=tables.differs(),
            lessons=tables.learnt(used),
            data={
                "first": first,
                "modules": [{"key": module.key, "title": module.title} for module in modules],
                "concepts": list(WORDS.items())
                + [(concept.key, concept.words) for concept in concepts.rows("cnn")],
                "results": compared,
                "schema": json.loads(RUNS.schema.read_text()),
            },
        )
    }
    page = environment.get_template("file.html.j2")
    for module in (one for model in [*MODELS, *sources.BESIDE] for one in sources.modules(model)):
        path = "files/%s.html" % module.path
        lines = [Markup(line) for line in sources.highlighted(module)]
        pages[path] = page.render(up="../" * path.count("/"), module=module, lines=lines)
    for committed in sum(used, []):
        pages[committed.path] = json.dumps(committed.result, indent=1)
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
