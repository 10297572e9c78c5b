"""Which optimiser moved the weights, from gradients and weights of a recording."""
