"""A certificate for code that nobody here sees: a challenge, its answer, and the verdict."""
