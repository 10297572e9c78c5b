"""One command, and one file to carry: ``rosetta.pyz``."""
