"""Which cause the diagnosis of a challenge should name for each trap, as patterns.

None: no answer can show it.
"""

CAUSES = {
    "training_context_around_the_update_alone": "drops nothing in training",
    "training_switched_on_for_good": "prediction differs from the network without dropout",
    "mask_drawn_before_the_recording": "same mask",
    "seed_not_set": "same mask with another seed",
    "first_class_ignored": "class 0 have no loss",
    "zero_grad_forgotten": "never reset",
}
