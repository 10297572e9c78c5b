"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "probability_clipped_in_the_loss": "is clipped|raised to at least",
    "from_logits_in_the_sense_of_keras": "no softmax in the loss",
    "trainer_made_in_each_pass": "state is lost between passes",
    "gradients_added_up": "never reset",
}
