"""A port of the CNN in C, from a challenge alone."""
