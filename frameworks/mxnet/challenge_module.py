"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "gradient_scaled": "multiplied by",
    "label_0_ignored": "class 0 have no loss",
    "optimiser_made_in_each_pass": "state is lost between passes",
    "prediction_has_weights_of_its_own": "weights from before training",
    "prediction_fused_once": "weights from before training",
    "weight_decay_in_the_optimiser": "weight decay of .* of all but the biases",
    "loss_overwritten_by_the_next_step": None,  # each loss is read before the next step
}
