"""The tables as Markdown, to be read on a forge: a page for each subject.

``reports/results.md`` is committed; it changes only with the result files of benches. The others
change with every framework, so they are built beside the site and not committed.
"""

import html
import re
from collections import namedtuple

from common.networks import ALL, MODELS
from reports import bench_tables, phrases, sources, tables
from reports.committed import FOLDERS, HERE
from reports.lessons import learnt
from reports.sweeps import swept
from reports.table import APART, CODE, pieces

BUILT = HERE / "site" / "tables"

Page = namedtuple("Page", "title says parts")
Page.__doc__ = """A page of tables.

says: what to know first.
parts: ``Table``s, or texts that are Markdown already.
"""


def escaped(text):
    """``text`` as it is, nothing in it markup, but for pairs of backticks: code is between them."""
    parts = [
        "`%s`" % part.replace("|", r"\|")
        if kind is CODE
        else html.escape(re.sub(r"([\\`*_\[\]|])", r"\\\1", part), quote=False)
        for kind, part in pieces(text.replace("\n", " "))
    ]
    return "".join(parts)


def cell(content, up):
    """A cell's Markdown; ``up``: from the page's folder to ``reports``."""
    if isinstance(content, list):
        return APART.join(cell(part, up) for part in content)
    text, link = content if isinstance(content, tuple) else (content, None)
    if not link:
        return escaped(text)
    inside = link.startswith(tuple(folder + "/" for folder in FOLDERS))
    return "[%s](%s)" % (escaped(text), up + link if inside else up + "../" + link)


def table(content, up=""):
    """A table of ``tables`` in Markdown's pipes."""
    lines = ["## " + content.title, ""]
    for term, text in content.answers:
        lines += ["**%s.** %s" % (term, escaped(text)), ""]
    if content.explained:
        lines += [escaped(content.explained), ""]
    heads = [escaped(column.strip() or "verdict") for column in content.columns]
    rules = ["---:" if column.endswith(" ") else "---" for column in content.columns]
    rows = [[cell(each, up) for each in row] for row in content.rows]
    lines += ["| %s |" % " | ".join(row) for row in [heads, rules] + rows]
    return "\n".join(lines)


def phrase(said, up):
    """A phrase's Markdown: code as code, on one line, and prose as it is."""
    if isinstance(said, str):
        return said
    text = " ".join(said.text.split())
    if said.prose:
        shown = "in words: " + escaped(text.replace("``", ""))
    else:
        ticks = "``" if "`" in text else "`"
        shown = "%s%s%s" % (ticks, text, ticks)
    return "[%s](%s../%s#L%d)" % (shown, up, said.path, said.number)


def phrase_book(up):
    """The phrase book as lists: a heading for each phrase, a line for each module."""
    modules = sources.modules()
    lines = []
    for concept, said in phrases.book(modules):
        lines += ["## " + concept, ""]
        for module, each in zip(modules, said):
            if each != phrases.NOT_YET:
                lines.append("- %s: %s" % (escaped(module.title), phrase(each, up)))
        lines.append("")
    return "\n".join(lines)


def results(used):
    """The committed page: the newest benches, without marks that change with other files."""
    newest, _ = bench_tables.newest(used.benches)
    parts = [(bench.machine, bench_tables.compared(bench, since=False)) for bench in newest]
    for name in tables.by_date(used):
        parts += [(name, part) for part in bench_tables.questions(used, name)]
    says = (
        "Each *contender* is an environment in a lane. Lane `same` has the same plain settings in "
        "every framework. Lane `best` has what an expert in that framework would set, still in "
        "float32. `bf16` is `best` with bfloat16 products, and `plain` is a tutorial's script. "
        "Contenders are [proven](../docs/proof.md) to be the same network, except plain scripts. "
        "Then they are timed in turn ([how](../docs/benchmark.md)). Compare ratios within a table: "
        "images per second of different machines or days are not comparable.\n\n"
        "`tox run -e report` makes this page from the files in [bench](bench). The HTML page that "
        "it builds marks the modules that have changed since."
    )
    return Page("Which framework is faster?", says, _distinct(parts))


def _distinct(parts):
    """Tables without marks, whose questions name the machine. parts: (machine, table)s."""
    questions = [part.title.replace("?", " on %s?" % machine, 1) for machine, part in parts]
    return [unmarked(part)._replace(title=title) for title, (_, part) in zip(questions, parts)]


def unmarked(content):
    """A table without the marks of modules that have changed since."""
    rows = [[_unmarked(each) for each in row] for row in content.rows]
    answers = [(term, _unmarked(text)) for term, text in content.answers]
    return content._replace(rows=rows, answers=answers)


def _unmarked(content):
    if isinstance(content, tuple):
        return (_unmarked(content[0]), content[1])
    return content.replace(" †", "")


def built(used):
    """{name: ``Page``} of the pages that are not committed."""
    models = list(MODELS.values())
    _, others = bench_tables.newest(used.benches)
    runs = [
        tables.results(used.runs, machine, model)
        for machine in tables.by_date(used)
        for model in ALL.values()
    ]
    profiled = [table for name in tables.by_date(used) for table in tables.profiled(used, name)]
    sweeps = [table for name in tables.by_date(used) for table in swept(used, name)]
    planted = [
        make(model)
        for model in models
        if tables.planted(model)
        for make in (tables.mistakes, tables.own_mistakes)
    ]
    diagnosed = [make(model) for make in (tables.diagnosed, tables.exchanged) for model in models]
    original = "How the original differs:\n\n" + "\n".join(
        "- " + escaped(sentence) for sentence in tables.differs()
    )
    pages = {
        "environments": ("Environments and networks", [tables.environments(), tables.networks()]),
        "runs": ("Single runs", runs),
        "benches": ("Other benches", [bench_tables.compared(bench) for bench in others]),
        "profiles": ("Where does a step's time go?", profiled),
        "sweeps": ("Do frameworks reach the same accuracy?", sweeps),
        "certificates": (
            "Certificates",
            [tables.certificates(used.runs, m) for m in ALL.values()] + [tables.on_gpus()],
        ),
        "mistakes": ("Planted mistakes", planted),
        "diagnosis": ("Diagnosis and exchange", diagnosed),
        "original": (
            "The original comparison",
            [tables.original(used.runs), original, learnt(used)],
        ),
        "phrase-book": ("Phrase book", [phrase_book("../../")]),
    }
    return {
        name: Page(title, "", [part for part in parts if part and not _empty(part)])
        for name, (title, parts) in pages.items()
    }


def _empty(part):
    return not isinstance(part, str) and not part.rows


def text(page, up=""):
    """A page's Markdown."""
    parts = [part if isinstance(part, str) else table(part, up) for part in page.parts]
    return "\n\n".join(["# " + page.title] + [page.says] * bool(page.says) + parts) + "\n"


def written(used):
    """{path: text} of all pages."""
    paths = {HERE / "results.md": text(results(used))}
    for name, page in built(used).items():
        paths[BUILT / (name + ".md")] = text(page, "../../")
    return paths
