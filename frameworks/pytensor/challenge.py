"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "kernels_turned_as_in_signal": "kernels are flipped",
    "logarithm_of_a_softmax_rounded": "is clipped|raised to at least",
    "cost_summed": "sum over the batch",
    "updates_not_handed_over": "nothing is trained",
    "last_steps_velocity": "step before",
    "nesterov_written_out": "Nesterov",
    "velocity_of_a_mean": "unit gain",
    "random_numbers_not_updated": "same mask between two passes|same mask between two steps",
    "generator_not_passed_on": "draw the same random numbers",
    "dropout_not_scaled": "does not scale",
    "seed_left_to_numpy": "same seed gives other masks",
}
