"""TensorFlow 1's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap(
        "weights_put_in_before_the_initialiser",
        "weights",
        ("session.run(tf.global_variables_initializer())", ""),
        (
            "AXES[w.ndim]), session)",
            "AXES[w.ndim]), session)\nsession.run(tf.global_variables_initializer())",
        ),
    ),
    trap(
        "a_variable_not_put_in", "weights", ("weights.values()):", "list(weights.values())[:-1]):")
    ),
    trap(
        "prediction_has_its_own_variables",
        "forward",
        (
            "tf.variable_scope(name, reuse=tf.AUTO_REUSE)",
            "tf.variable_scope(None, default_name=name)",
        ),
    ),
    trap(
        "channels_last_flattened_as_it_is",
        "forward",
        ('"NCHW" if', '"NHWC" if'),
        ("x = tf.transpose(x, (0, 3, 1, 2))", "pass"),
    ),
    trap("relu6", "forward", ("x = tf.nn.relu(tf.matmul(", "x = tf.nn.relu6(tf.matmul(")),
    trap(
        "loss_summed_by_reduction", "gradient", ("tf.reduce_mean(losses)", "tf.reduce_sum(losses)")
    ),
    trap(
        "labels_smoothed",
        "gradient",
        (
            "step_loss = tf.reduce_mean(losses)",
            "step_loss = tf.losses.softmax_cross_entropy(\n"
            "    tf.one_hot(y, 10), scores, label_smoothing=1e-3\n"
            ")",
        ),
    ),
    trap(
        "probability_clipped_below_its_logarithm",
        "gradient",
        (
            "losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores)",
            "likely = tf.clip_by_value(tf.nn.softmax(scores), 1e-10, 1.0)\n"
            "losses = -tf.reduce_sum(tf.one_hot(y, 10) * tf.log(likely), 1)",
        ),
    ),
    trap(
        "penalty_on_the_weights",
        "gradient",
        (
            "step_loss = tf.reduce_mean(losses)",
            "penalty = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])\n"
            "step_loss = tf.reduce_mean(losses) + 1e-6 * penalty",
        ),
    ),
    trap(
        "gradients_clipped_by_global_norm",
        "gradient",
        (
            "update = optimizer.minimize(step_loss)",
            "gradients, variables = zip(*optimizer.compute_gradients(step_loss))\n"
            "gradients, _ = tf.clip_by_global_norm(gradients, 5.0)\n"
            "update = optimizer.apply_gradients(zip(gradients, variables))",
        ),
    ),
    trap(
        "nesterov_asked_for",
        "momentum",
        (
            "tf.train.MomentumOptimizer(hp.learning_rate, hp.momentum)",
            "tf.train.MomentumOptimizer(hp.learning_rate, hp.momentum, use_nesterov=True)",
        ),
    ),
    trap(
        "optimiser_without_momentum",
        "momentum",
        (
            "tf.train.MomentumOptimizer(hp.learning_rate, hp.momentum)",
            "tf.train.GradientDescentOptimizer(hp.learning_rate)",
        ),
    ),
    trap(
        "loss_read_after_the_update",
        "trajectory",
        (
            "yield session.run([step_loss, update], {x: images, y: labels})[0]",
            "session.run(update, {x: images, y: labels})\n"
            "yield session.run(step_loss, {x: images, y: labels})",
        ),
    ),
    trap(
        "fraction_dropped_given_as_fraction_kept",
        "dropout",
        ("tf.nn.dropout(x, rate=drop1)", "tf.nn.dropout(x, drop1 or 1)"),
        ("tf.nn.dropout(x, rate=drop2)", "tf.nn.dropout(x, drop2 or 1)"),
        ("tf.nn.dropout(x, rate=drop3)", "tf.nn.dropout(x, drop3 or 1)"),
    ),
    trap(
        "dropout_in_prediction",
        "dropout",
        ("network(rows, training=False)", "network(rows, training=True)"),
    ),
    trap(
        "layers_dropout_without_training",
        "dropout",
        ("tf.nn.dropout(x, rate=drop2)", "tf.layers.dropout(x, drop2)"),
    ),
    trap(
        "seed_set_behind_the_graph",
        "dropout",
        ('tf.set_random_seed(settings["seed"])', ""),
        (
            "session.run(tf.global_variables_initializer())",
            'session.run(tf.global_variables_initializer())\ntf.set_random_seed(settings["seed"])',
        ),
    ),
    trap(
        "one_seed_for_all_layers",
        "dropout",
        ("tf.nn.dropout(x, rate=drop1)", "tf.nn.dropout(x, rate=drop1, seed=1)"),
        ("tf.nn.dropout(x, rate=drop2)", "tf.nn.dropout(x, rate=drop2, seed=1)"),
        ("tf.nn.dropout(x, rate=drop3)", "tf.nn.dropout(x, rate=drop3, seed=1)"),
    ),
    trap(
        "mask_drawn_while_the_graph_is_built",
        "dropout",
        (
            "x = tf.nn.dropout(x, rate=drop3)",
            "x *= (np.random.uniform(size=512) >= drop3).astype(np.float32) / (1 - drop3)",
        ),
    ),
]
