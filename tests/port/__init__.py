"""A port of the CNN in C, written only from a challenge."""
