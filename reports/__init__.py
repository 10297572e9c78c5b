"""What the committed results say: as a page, as Markdown, and in the terminal."""
