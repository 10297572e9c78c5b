"""What the committed results say: as a page, as Markdown, and in the terminal."""

# What the tests need beyond pip: Debian packages, each with its program.
SYSTEM = {"chromium": "chromium"}
