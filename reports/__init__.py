"""What the committed results say: as tables in Markdown, and in the terminal."""
