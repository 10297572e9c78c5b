"""The machine, environments, files and commands."""

import os

# Read before NumPy is imported: an OpenMP runtime may bind the first thread to one core.
ALLOWED = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
