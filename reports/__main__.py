"""python -m reports show, or write: what the committed results say.

show prints their tables; write puts them into reports/README.md, and the page into reports/site.
"""

import sys

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from common.host import commands
from common.host.files import atomic_write
from reports import committed, markdown, site, tables


def show(found):
    """Print every table, as wide as the terminal lets it."""
    console = Console()
    for table in tables.every(found):
        drawn = RichTable(title=table.title, title_justify="left", caption=table.note or None)
        for column in table.columns:
            justify = "right" if column.endswith(" ") else "left"
            drawn.add_column(column.strip(), justify=justify, overflow="fold")
        for row in table.rows:  # as Text: a bracket in a result file is no markup
            drawn.add_row(*(Text(cell if isinstance(cell, str) else cell[0]) for cell in row))
        console.print(drawn)


def command(arguments):
    """Show or write; exit code 0, with a line for each file that was left out."""
    parser = commands.OneLineParser(prog="python -m reports", description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("show", "write"))
    options = parser.parse_args(arguments)
    found, left_out = committed.read()
    for path, why in left_out.items():
        print("left out: %s: %s" % (path, why), file=sys.stderr)
    if options.what == "show":
        show(found)
    else:
        with atomic_write(str(committed.HERE / "README.md")) as file:
            file.write(markdown.page(found).encode())
        size = site.render(found, left_out)
        print("%s: %.2f MB" % (site.SITE / "index.html", size / 1e6))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
