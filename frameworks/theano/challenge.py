"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "filter_flip_by_default": "kernels are flipped",
    "cost_summed": "sum over the batch",
    "probabilities_clipped": "is clipped|raised to at least",
    "nesterov_written_out": "Nesterov",
    "velocity_of_a_mean": "unit gain",
    "last_steps_velocity": "step before",
    "updates_not_handed_over": "nothing is trained",
    "binomial_keeps_the_rate": "fraction to drop for the fraction to keep",
    "dropout_not_scaled": "does not scale",
    "streams_seeded_alike": "draw the same random numbers",
}
