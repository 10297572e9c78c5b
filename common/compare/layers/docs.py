"""The page on mistakes of ports, and its anchors."""

PAGE = "docs/porting-mistakes.md"
