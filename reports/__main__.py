"""python -m reports write, show or phrases: renders the committed results.

write builds the page in reports/site, and the tables as Markdown: reports/results.md, which is
committed, and others beside the page. show prints the tables. phrases prints the lines that a
framework's page.py finds.
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

import frameworks
from common.system import commands
from common.system.errors import InputError
from common.system.files import atomic_write
from reports import committed, markdown, phrases, site, sources, tables
from reports.table import words


def show(used):
    """Print every table, as wide as the terminal lets it."""
    console = Console()
    for table in tables.every(used):
        notes = ["%s. %s" % pair for pair in table.answers] + [table.explained]
        caption = Text("\n".join(filter(None, notes)))
        drawn = RichTable(title=table.title, title_justify="left", caption=caption or None)
        for column in table.columns:
            justify = "right" if column.endswith(" ") else "left"
            drawn.add_column(column.strip(), justify=justify, overflow="fold")
        for row in table.rows:  # as Text: brackets in a result file are not markup
            drawn.add_row(*(Text(words(cell)) for cell in row))
        console.print(drawn)


def show_phrases(key):
    """Print the phrase book's lines, of one module where ``key`` names it."""
    file = frameworks.path(frameworks.ENVIRONMENTS[key]) if key in frameworks.ENVIRONMENTS else ""
    modules = [each for each in sources.modules() if key is None or each.path == file]
    if not modules:
        raise InputError("no module is named %r" % key)
    for concept, said in phrases.book(modules):
        print(concept)
        for module, phrase in zip(modules, said):
            if isinstance(phrase, str):
                print("    %s  %s" % (module.path, phrase))
            else:
                text = phrase.text.replace("\n", "\n        ")
                print("    %s:%d  %s" % (phrase.path, phrase.number, text))


def results(uncommitted_too):
    """(used, left out) from ``committed.read``; uncommitted files are named on stderr."""
    try:
        if uncommitted_too:
            return committed.everything()
        for path in committed.uncommitted():
            print("not committed: reports/%s (git add takes it in)" % path, file=sys.stderr)
        with committed.folder() as folder:
            return committed.read(folder)
    except committed.NoGit:
        print("no git repository: every result file is used", file=sys.stderr)
        return committed.read(committed.HERE)


def command(arguments):
    """Exit code 0, with a line for each file that was left out."""
    parser = commands.OneLineParser(
        prog="python -m reports", description="Render the committed results."
    )
    what = "build the page and the tables, print the tables, or print the lines of the phrase book"
    parser.add_argument("what", choices=("write", "show", "phrases"), help=what)
    parser.add_argument("name", nargs="?", help="phrases: print this environment's lines only")
    own = "also use uncommitted results and your own; the page shows them, the Markdown does not"
    parser.add_argument("--all", action="store_true", help=own)
    parser.add_argument(
        "--challenge", type=Path, help="write: offer this challenge's folder on the page"
    )
    options = parser.parse_args(arguments)
    if options.what == "phrases":
        show_phrases(options.name)
        return 0
    used, left_out = results(options.all)
    for path, why in left_out.items():
        print("left out: %s: %s" % (path, why), file=sys.stderr)
    if options.what == "show":
        show(used)
    else:
        if options.challenge and not Path(options.challenge, "challenge.json").is_file():
            raise InputError("--challenge %s: not a challenge's folder" % options.challenge)
        size = site.render(used, left_out, challenge=options.challenge)
        pages = {} if options.all else markdown.written(used)  # those are committed
        for path, text in pages.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(str(path)) as file:
                file.write(text.encode())
        print("%s: %.2f MB" % (site.SITE / "index.html", size / 1e6))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
