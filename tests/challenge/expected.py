"""Which cause the diagnosis should name for each planted mistake.

``frameworks/NAME/challenge.py`` says so for the traps of one framework.
"""

from common.system import modules

# {mistake: pattern of the right causes; None if no answer can show it}. Mistakes that are not here
# have no known cause.
SHARED = {
    # data and weights
    "height_and_width_swapped": "height and width of the images",
    "labels_off_by_one": "labels are off by one",
    "own_batch_order": "in another order",
    "biases_not_zero": "too high",
    "biases_ignored": r"(conv1|input|norm1)\.(bias|weight) is left out|other weights",
    # scores
    "rows_of_a_prediction_out_of_order": "in another order",
    "last_partial_batch_lost": "rows of a prediction are wrong",
    "scores_in_half_precision": "digits of float16",
    "kernel_flipped": "kernels are flipped",
    "biases_swapped": r"conv1\.bias and conv2\.bias are exchanged",
    "channels_last_flatten": "H, W, C",
    "channels_last_flattened_as_it_is": "H, W, C",
    "relu_forgotten": "no activation after",
    "relu6": "ReLU6",
    "relu_with_a_ceiling": "ReLU6",
    "pool_by_average": "takes? the mean",
    "softmax_in_the_network": "softmax after the last layer",
    # the loss and its gradient
    "loss_summed": "sum over the batch",
    "loss_reduced_by_sum": "sum over the batch",
    "rescaling_forgotten": "sum over the batch",
    "divided_by_the_batch_size_twice": "divided by the batch's size twice",
    "batch_size_written_in": "divided by 64",
    "labels_smoothed": "labels are smoothed by 0.001",
    "probability_clipped": "is clipped|raised to at least",
    "logarithm_of_a_softmax": "is clipped|raised to at least",
    "from_logits_forgotten": "scores are treated as probabilities|is clipped|raised to at least",
    "softmax_twice": "softmax is applied twice",
    # the update
    "learning_rate_written_in": "learning rate is always",
    "weight_decay_in_the_optimiser": "weight decay of .* of all tensors",
    "gradients_clipped_by_global_norm": "clipped at a norm of 5",
    "clipnorm": "clipped at a norm",
    "clipvalue": "clipped at values",
    "gradients_clipped": "clipped at values",
    "nesterov_asked_for": "Nesterov",
    "scaled_gradient": "unit gain|multiplied by",
    "momentum_written_in": "momentum is",
    "velocity_reset_each_pass": "state is lost between passes",
    # losses
    "float64_in_disguise": "those of float64",
    "losses_rounded": "digits of bfloat16",
    # dropout
    "rate_taken_for_keep": "fraction to drop for the fraction to keep",
    "rates_exchanged": "has the rate of dropout",
    "dropout_forgotten": "drops nothing in training",
    "prediction_drops_in_last_partial_batch": "differs from the network without dropout",
    "training_mode_forgotten": "drops nothing in training",
    "one_mask_for_all_channels": "one mask for several values|same mask for several",
    "one_seed_for_all_layers": "draw the same random numbers",
    "masks_reseeded_in_each_pass": "same mask between two passes",
    "reseeded_in_each_pass": "same mask between two passes",
    "seed_ignored": "same mask with another seed",
    "seed_unsaid": "same seed gives other masks",
    "dropout_in_prediction": "prediction differs from the network without dropout",
    # evaluation
    "half_of_the_rows_counted": "first half of the rows",
    "two_highest_counted": "2 highest scores",
    "among_the_five_highest": "5 highest scores",
    "labels_off_in_evaluation": "labels begin at 1",
    # texts: scores and generation
    "attention_not_scaled": "attention is not scaled by|weights are multiplied by the root of a",
    "attention_scaled_by_the_width": "root of the network's width|queries' weights are halved",
    "queries_and_keys_exchanged": "order keys, queries, values",
    "fused_product_by_head": "of each head together",
    "neighbours_rotated": "neighbouring features are rotated",
    "key_heads_tiled": "heads are tiled",
    "normalisation_adds_one": r"multiply by 1 \+ weight",
    "embedding_scaled": "embedding's weight begins multiplied|other weights",
    "positions_begin_at_two": "positions begin at 2",
    "last_bias_lost": "mlp.down.bias of every block is left out|other weights",
    "generated_places_begin_at_zero": "of the text's first places",
    "second_likeliest_token_taken": "second likeliest",
    "cache_one_token_behind": "of the token before it",
    # texts: targets and evaluation
    "targets_not_shifted": "targets are one step late",
    "padding_is_a_target": "padding is a target",
    "perplexity_for_the_loss": "perplexity",
    "rows_weighted_alike": "mean of each text's mean|first half of the rows",
    # Adam, its schedule, clipping and decay
    "betas_exchanged": "betas are exchanged",
    "betas_written_in": "betas are always 0.9 and 0.999",
    "epsilon_written_in": "epsilon is always 1e-07",
    "epsilon_inside_the_root": "epsilon is inside the root",
    "bias_not_corrected": "not corrected for their bias",
    "bias_corrected_one_step_behind": "as those of the step before",
    "largest_square_kept": "AMSGrad",
    "rate_one_step_late": "schedule is one step late, and its first rate is 0",
    "rate_one_step_early": "schedule is one step early",
    "warmup_begins_at_zero": "warm-up begins at 0",
    "cosine_ends_at_zero": "cosine ends at 0",
    "cosine_counts_the_warmup": "cosine begins at step 0",
    "rate_rises_again_after_the_end": "rate rises again",
    "rate_constant": "there is no schedule",
    "not_clipped": "gradients are not clipped",
    "clipped_by_tensor": "clipped by its own norm",
    "clipped_by_value": "values are clipped",
    "always_scaled_to_the_norm": "shorter than the limit is made longer",
    "not_decayed": "no weight decay",
    "decay_not_times_the_rate": "not multiplied by the scheduled rate",
    "vectors_decayed": "all tensors decay",
    "attention_biases_decayed": "biases of queries, keys and values decay",
    "normalisation_weights_decayed": "weights of normalisations decay",
    "embeddings_not_decayed": "embeddings do not decay",
    "decay_in_the_gradient": r"in the gradient \(L2\)",
    "decay_after_the_update": "share of the weights after the update",
    # Not in an answer: these act later, show in two models or two runs, or are only claimed.
    "claims_bfloat16": None,
    "correction_stops_counting": None,
    "epsilon_named_wrongly": None,
    "learning_rate_falls_late": None,
    "learning_rate_restarts_at_forty_steps": None,
    "lookahead_every_twenty_five_steps": None,
    "models_share_state": None,
    "predicts_with_the_model_built_last": None,
    "seed_from_the_clock": None,
    "state_lost_late": None,
    "stops_early": None,
    "weights_averaged_every_thirty_steps": None,
}


def causes(name):
    """The same for one environment, with its framework's own causes."""
    return dict(SHARED, **modules.causes(name))
