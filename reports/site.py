"""The Rosetta page: the modules side by side, the proof and the results, as a static site."""

import json
import re
import shutil
import zipfile

import jinja2
from markupsafe import Markup, escape

import frameworks
from common.networks import ALL, MODELS
from common.proof.rungs import RUNGS
from common.system.machine import described
from reports import (
    aligned,
    bench_tables,
    comparison,
    concepts,
    figures,
    phrases,
    port,
    reading,
    sources,
    tables,
    wall,
)
from reports.committed import FOLDERS, HERE, RUNS
from reports.provenance import provenance
from reports.table import CODE, explained, pieces

SITE = HERE / "site"

# The two modules that a page opens with, if its network has both.
FIRST_PAIR = ("pytorch", "keras")

# (id, title, template); the first is on the page of each network, the others on the first one's.
SECTIONS = (
    ("code", "Side by side", None),
    ("surprises", "Surprises", "surprises.html.j2"),
    ("port", "My port is off", "port.html.j2"),
    ("results", "Results", "results.html.j2"),
    ("proof", "Proof", "proof.html.j2"),
    ("phrase-book", "Phrase book", "phrases.html.j2"),
    ("networks", "Networks", "networks.html.j2"),
    ("original", "The original comparison", "original.html.j2"),
)

# Further words that find a part.
WORDS = {
    "port": "bug wrong diagnosis challenge mistake",
    "results": "fastest fast speed time slow accuracy bench compare",
    "proof": "certificate rung tolerance proven",
    "surprises": "gotcha trap pitfall",
    "networks": "models cnn mlp lstm",
}


def pair(modules):
    """The keys of the two modules that a page opens with."""
    keys = [module.key for module in modules]
    first = [key for key in FIRST_PAIR if key in keys]
    return (first + [key for key in keys if key not in first])[:2]


def counted():
    """How many frameworks there are, in words; one that is here in several versions counts once."""
    titles = {}
    for module in sources.modules():
        titles.setdefault(re.match(r"\w+", module.title).group(), []).append(module.title)
    several = sorted(name for name, versions in titles.items() if len(versions) > 1)
    words = "%d frameworks" % (len(titles) - 1)  # less NumPy, the reference
    if several:
        names = ", ".join(several[:-1]) + " and " * (len(several) > 1) + several[-1]
        words += " (%s in several versions)" % names
    return words


def file(network):
    """The name of a network's page."""
    return "index.html" if network == reading.FIRST else network + ".html"


def networks():
    """[(Model, its modules)] of the networks that have a page."""
    written = [(model, sources.modules(name)) for name, model in MODELS.items()]
    return [(model, modules) for model, modules in written if modules]


def elsewhere(network):
    """[(address, title, words, network's title)] of the rows that only other networks have."""
    here = {concept.key for concept in concepts.rows(network)}
    shared = {concept.key for concept in concepts.rows("shared")}
    found = [(file(model.name), model.title, model.name, "network") for model, _ in networks()]
    for model, _ in networks():
        for concept in concepts.rows(model.name):
            if concept.key not in here | shared:
                words = " ".join([concept.says, concept.words, model.name])
                address = "%s#%s" % (file(model.name), concept.key)
                found.append((address, concept.title, words, model.title))
                here.add(concept.key)
    if network != reading.FIRST:
        first = file(reading.FIRST)
        found += [("%s#%s" % (first, k), t, WORDS.get(k, ""), "part") for k, t, _ in SECTIONS[1:]]
    return found


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


def machine(runs, name):
    """The page's part for the runs on one machine."""
    own = [run for run in runs if run.machine == name]
    facts = own[0].result["machine"]
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


def network(model, modules):
    """The variables of a network's template: its modules side by side."""
    read, first = reading.read(modules, model.name), pair(modules)
    rows = concepts.rows(model.name)
    return {
        "up": "",
        "counted": counted(),
        "sections": SECTIONS,
        "home": "" if model.name == reading.FIRST else file(reading.FIRST),
        "model": model,
        "networks": [(other, file(other.name), len(some)) for other, some in networks()],
        "modules": modules,
        "first": first,
        "folded": concepts.FOLDED,
        "steps": aligned.rows(model.name, modules, read),
        "whole": {module.key: aligned.whole(module, read[module.key]) for module in modules},
        "data": {
            "first": first,
            "modules": [{"key": module.key, "title": module.title} for module in modules],
            "concepts": list(WORDS.items()) + [(concept.key, concept.words) for concept in rows],
            "elsewhere": elsewhere(model.name),
        },
    }


def index_parts(used, left_out, challenge, size):
    """The further variables of the first page's template: the parts on all networks."""
    modules, runs = sources.modules(), used.runs
    cnn = tables.of_model(runs, MODELS["cnn"])
    compared, models = comparison.comparison(used)
    planted = [model for model in MODELS.values() if tables.planted(model)]
    newest, others = bench_tables.newest(used.benches)
    symptoms, first = port.symptoms(modules), pair(modules)
    failing = [
        failed
        for failed in map(wall.failure, sorted(modules, key=lambda m: m.key != first[0]))
        if failed
    ]
    parts = wall.wall()
    return {
        "compared": compared,
        "symptoms": symptoms,
        "common_causes": port.first(symptoms),
        "carried": carried(),
        "known": port.known(),
        "first_losses": port.losses(used),
        "challenge": challenge,
        "challenge_size": size,
        "newest": [bench_tables.compared(bench, since=False) for bench in newest],
        "others": [bench_tables.compared(bench) for bench in others],
        "questions": [
            table for name in tables.by_date(used) for table in tables.questions(used, name)
        ],
        "metrics": comparison.METRICS,
        "models": models,
        "machines": [machine(used.runs, name) for name in tables.by_date([used.runs])],
        "left_out": left_out,
        "shares": [table for table in (proof(runs, model) for model in ALL.values()) if table],
        "proves": {rung: port.seen(rung)[1] for rung in RUNGS},
        "divergence": figures.divergence(cnn),
        "wall": parts,
        "on_record": wall.passed(parts[1]),
        "failure": failing[0] if failing else None,
        "on_gpus": tables.on_gpus(),
        "planted_counts": wall.caught(),
        "mistake_kinds": wall.kinds(),
        "planted": [
            make(model) for model in planted for make in (tables.mistakes, tables.own_mistakes)
        ],
        "phrases": [(concept, list(zip(modules, said))) for concept, said in phrases.book(modules)],
        "written": tables.networks(),
        "files": tables.files(),
        "diagnosed": [table for table in map(tables.diagnosed, MODELS.values()) if table],
        "exchanges": [table for table in map(tables.exchanged, MODELS.values()) if table],
        "original": tables.original(runs),
        "differs": tables.differs(),
        "lessons": tables.learnt(used),
        "surprises": surprises(),
    }


def surprises():
    """[(network's title, [(module, line, HTML)])]: what a newcomer trips over, by network."""
    found = []
    for model, modules in networks():
        said = []
        for module in modules:
            source = reading.as_it_is(module, reading.table(module, model.name))
            numbers = dict(reading.fields(module, source.docstrings)).get("Surprise")
            if numbers:
                text = " ".join(module.lines[number - 1].strip() for number in numbers)
                html = aligned.sentence(text)
                said.append((module, numbers[0], Markup(html[:1].upper() + html[1:])))
        found.append((model, said))
    return found


def render(used, left_out, folder=SITE, challenge=None):
    """Write the site into an emptied ``folder``; return its size in bytes.

    used, left_out: as ``committed.read`` returns them.
    challenge: the folder of a challenge to offer for download, or None.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "assets", folder / "assets")
    offered, size = packed(challenge, folder)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["prose"] = prose
    environment.globals["explained"] = explained
    environment.globals["result_folders"] = tuple(name + "/" for name in ("mine", *FOLDERS))
    parts = index_parts(used, left_out, offered, size)
    pages = {}
    for model, modules in networks():
        template = "index.html.j2" if model.name == reading.FIRST else "network.html.j2"
        shown = network(model, modules)
        if model.name == reading.FIRST:
            data = {"results": parts.pop("compared"), "schema": json.loads(RUNS.schema.read_text())}
            shown.update(parts, data={**shown["data"], **data})
        pages[file(model.name)] = environment.get_template(template).render(shown)
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
