"""The tables as Markdown: reports/README.md."""

import html

from reports import tables

HEAD = """# The committed results

Made by `python -m reports write` from the files in [results](results) and from the registry;
`python -m reports show` prints the same in the terminal. Both run in `tox run -e report`'s
environment. How each figure is made is told in the [README](../README.md).
"""


def cell(content):
    """A cell's Markdown; what came out of a file cannot become markup."""
    text, link = content if isinstance(content, tuple) else (content, None)
    text = html.escape(text, quote=False).replace("|", "\\|").replace("\n", " ")
    if not link:
        return text
    return "[%s](%s)" % (text, link if link.startswith("results/") else "../" + link)


def table(content):
    """A table of ``tables`` in Markdown's pipes."""
    lines = ["## " + content.title, ""]
    if content.note:
        lines += [content.note, ""]
    heads = [column.strip() for column in content.columns]
    rules = ["---:" if column.endswith(" ") else "---" for column in content.columns]
    rows = [[cell(one) for one in row] for row in content.rows]
    lines += ["| %s |" % " | ".join(row) for row in [heads, rules] + rows]
    return "\n".join(lines)


def page(committed):
    """The whole page."""
    return "\n\n".join([HEAD.rstrip()] + [table(one) for one in tables.every(committed)]) + "\n"
