"""A certificate for code outside this project: a challenge, an answer, and a verdict."""
