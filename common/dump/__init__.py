"""Every array of a file of weights, whatever framework wrote it. Nothing that it holds is run."""
