"""Keras's traps, as patches of its modules."""

from frameworks.variants import trap

TRACED = ("keras", "keras-cuda", "keras-jax", "keras-jax-cuda")

SGD = "keras.optimizers.SGD(hp.learning_rate, hp.momentum)"


def with_optimiser(name, rung, argument):
    """A mistake that is an argument of the optimiser."""
    return trap(name, rung, (SGD, SGD[:-1] + ", %s)" % argument))


TRAPS = [
    trap(
        "softmax_on_the_last_layer",
        "forward",
        ('name="dense2"),', 'name="dense2", activation="softmax"),'),
    ),
    trap(
        "flatten_taken_for_channels_first",
        "forward",
        ("[:, flatten_order(network)]", ""),
        ("[:, np.argsort(flatten_order(model))]", ""),
    ),
    trap(
        "relu_with_a_ceiling",
        "forward",
        ('activation="relu", name="conv2"', 'activation="relu6", name="conv2"'),
    ),
    trap(
        "pool_by_average",
        "forward",
        (
            "MaxPooling2D(2), layers.Dropout(drop1)",
            "layers.AveragePooling2D(2), layers.Dropout(drop1)",
        ),
    ),
    trap(
        "one_layer_in_mixed_bfloat16",
        "forward",
        ('name="dense1"),', 'name="dense1", dtype="mixed_bfloat16"),'),
    ),
    trap("from_logits_forgotten", "gradient", ("from_logits=True", "from_logits=False")),
    trap(
        "loss_reduced_by_sum", "gradient", ("from_logits=True", 'from_logits=True, reduction="sum"')
    ),
    with_optimiser("weight_decay_in_the_optimiser", "gradient", "weight_decay=1e-6"),
    with_optimiser("clipnorm", "gradient", "clipnorm=1.0"),
    with_optimiser("global_clipnorm", "gradient", "global_clipnorm=5.0"),
    with_optimiser("clipvalue", "gradient", "clipvalue=1.0"),
    trap(
        "kernel_regularised",
        "gradient",
        ('name="dense1"),', 'name="dense1", kernel_regularizer=keras.regularizers.L2(1e-6)),'),
    ),
    with_optimiser("nesterov_asked_for", "momentum", "nesterov=True"),
    with_optimiser(
        "weights_replaced_by_their_average",
        "momentum",
        "use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=30",
    ),
    with_optimiser("gradients_accumulated", "gradient", "gradient_accumulation_steps=2"),
    trap(
        "compiled_anew_in_each_pass",
        "momentum",
        (
            "for x, y in batches:",
            "hp = model.optimizer.get_config()\n"
            "model.compile(\n"
            '    keras.optimizers.SGD(hp["learning_rate"], hp["momentum"]), model.loss\n'
            ")\n"
            "for x, y in batches:",
        ),
    ),
    trap(
        "dropout_in_prediction",
        "dropout",
        (
            "return model.predict(x, batch_size=256, verbose=0)",
            "return keras.ops.convert_to_numpy(model(x, training=True))",
        ),
    ),
    trap(
        "seeds_written_in",
        "dropout",
        ("layers.Dropout(drop1)", "layers.Dropout(drop1, seed=1)"),
        ("layers.Dropout(drop2)", "layers.Dropout(drop2, seed=2)"),
        ("layers.Dropout(drop3)", "layers.Dropout(drop3, seed=3)"),
    ),
    trap(
        "one_seed_for_all_layers",
        "dropout",
        ("layers.Dropout(drop1)", 'layers.Dropout(drop1, seed=settings["seed"])'),
        ("layers.Dropout(drop2)", 'layers.Dropout(drop2, seed=settings["seed"])'),
        ("layers.Dropout(drop3)", 'layers.Dropout(drop3, seed=settings["seed"])'),
    ),
    trap(
        "mask_drawn_while_the_step_is_traced",
        "dropout",
        (
            "def symbol(settings, hp):",
            "class Dropout(layers.Layer):\n"
            "    def __init__(self, rate):\n"
            "        super().__init__()\n"
            "        self.rate = rate\n\n"
            "    def call(self, x, training=False):\n"
            "        if not training or not self.rate:\n"
            "            return x\n"
            "        mask = np.random.uniform(size=x.shape[1:]) >= self.rate\n"
            "        return x * mask.astype(np.float32) / (1 - self.rate)\n\n\n"
            "def symbol(settings, hp):",
        ),
        ("layers.Dropout(drop3)", "Dropout(drop3)"),
        only=TRACED,  # PyTorch traces no step
    ),
    trap("gaussian_dropout", "dropout", ("layers.Dropout(drop3)", "layers.GaussianDropout(drop3)")),
    trap(
        "among_the_five_highest",
        "accuracy",
        ("sparse_categorical_accuracy(", "sparse_top_k_categorical_accuracy("),
    ),
]

ADAM = "beta_2=hp.beta2, epsilon=hp.epsilon"

TRAPS += [
    trap("epsilon_by_default", "gradient", (ADAM, "beta_2=hp.beta2"), model="mlp"),
    trap("nadam", "gradient", ("optimizers.Adam(", "optimizers.Nadam("), model="mlp"),
    trap("amsgrad", "momentum", (ADAM, ADAM + ", amsgrad=True"), model="mlp"),
    trap("adamw_by_default", "gradient", ("optimizers.Adam(", "optimizers.AdamW("), model="mlp"),
    trap(
        "hard_sigmoid",
        "forward",
        ('layers.Dense(84, activation="sigmoid"', 'layers.Dense(84, activation="hard_sigmoid"'),
        model="lenet5",
    ),
    trap(
        "pool_by_average",
        "forward",
        ('name="conv1"), layers.MaxPooling2D(2)', 'name="conv1"), layers.AveragePooling2D(2)'),
        model="lenet5",
    ),
]

TRAPS += [
    trap(
        "gradient_not_truncated",
        "gradient",
        ("state = [ops.stop_gradient(part) for part in state]", ""),
        model="lstm",
    ),
    trap(
        "state_not_carried",
        "gradient",
        (
            "lstm(dense1(x[:, first : first + CHUNK]), initial_state=state)",
            "lstm(dense1(x[:, first : first + CHUNK]))",
        ),
        model="lstm",
    ),
    trap(
        "hard_sigmoid",
        "forward",
        (
            "layers.LSTM(5, return_sequences",
            'layers.LSTM(5, recurrent_activation="hard_sigmoid", return_sequences',
        ),
        model="lstm",
    ),
    trap(
        "h_and_c_exchanged",
        "forward",
        ("[value[:, -1:], *state]", "[value[:, -1:], *state[::-1]]"),
        model="lstm",
    ),
    trap(
        "state_kept_between_sequences",
        "gradient",
        (
            "def symbol(",
            "class Kept(layers.Layer):\n"
            "    def __init__(self, size):\n"
            "        super().__init__()\n"
            '        part = {"shape": (size, 5), "initializer": "zeros", "trainable": False}\n'
            "        self.parts = [self.add_weight(**part) for _ in range(2)]\n\n"
            "    def call(self, x, state=None):\n"
            "        if state is None:\n"
            "            return [ops.copy(part) for part in self.parts]\n"
            "        for part, new in zip(self.parts, state):\n"
            "            part.assign(new)\n"
            "        return x\n\n\n"
            "def symbol(",
        ),
        ("values, state =", "kept = Kept(hp.batch_size)\nvalues, state ="),
        ("[], None", "[], kept(x)"),
        ("keras.Input((STEPS, 1))", "keras.Input((STEPS, 1), batch_size=hp.batch_size)"),
        ("whole = keras.Model(", "values[-1] = kept(values[-1], state)\nwhole = keras.Model("),
        model="lstm",
    ),
    trap(
        "stateful_asked_for",
        "gradient",
        ('return_state=True, name="lstm")', 'return_state=True, stateful=True, name="lstm")'),
        ("keras.Input((STEPS, 1))", "keras.Input((STEPS, 1), batch_size=hp.batch_size)"),
        (  # Keras allows a stateful layer only the batch size that it was made for
            "h, *state = lstm(dense1(x), initial_state=start)",
            "ahead = layers.RNN(lstm.cell, return_sequences=True, return_state=True)\n"
            "h, *state = ahead(dense1(x), initial_state=start)",
        ),
        only=("keras", "keras-cuda"),  # lost between steps on JAX, and on PyTorch an error
        model="lstm",
    ),
]

TRAPS += [
    trap(
        "epsilon_by_default",
        "forward",
        (", epsilon=1e-5, name=norm", ", name=norm"),
        model="resnet",
    ),
    trap(
        "new_part_given_as_momentum", "gradient", ("momentum=0.9", "momentum=0.1"), model="resnet"
    ),
    trap(
        "variance_divided_by_n_minus_1",
        "momentum",  # whose batches are small; in large ones PyTorch's lost digits hide it
        ("layers.BatchNormalization(", "Unbiased("),
        (
            "def symbol(",
            "class Unbiased(layers.BatchNormalization):\n"
            "    def call(self, x, training=None):\n"
            "        y = super().call(x, training=training)\n"
            "        if not training:\n"
            "            return y\n"
            '        n = keras.ops.cast(keras.ops.size(x), "float32") / x.shape[self.axis]\n'
            "        beta = self.beta[:, None, None] if self.axis == 1 else self.beta\n"
            "        return (y - beta) * (1 - 1 / n) ** 0.5 + beta\n\n\n"
            "def symbol(",
        ),
        model="resnet",
    ),
    trap(
        "predicts_with_batch_statistics",
        "forward",
        (  # training=True in the layer's call would give way to the False of predict()
            "def variables(",
            "def predict(model, x):\n"
            "    parts = [x[first : first + 64] for first in range(0, len(x), 64)]\n"
            "    scores = [model(part, training=True) for part in parts]\n"
            "    return np.concatenate([keras.ops.convert_to_numpy(part) for part in scores])\n\n\n"
            "def variables(",
        ),
        model="resnet",
    ),
    trap(
        "same_with_a_stride",
        "forward",
        ("x = layers.ZeroPadding2D(1)(x)", "pass"),
        (
            "filters, size, stride, use_bias=False",
            'filters, size, stride, padding="same", use_bias=False',
        ),
        model="resnet",
    ),
    trap(
        "decay_in_the_optimiser",
        "momentum",
        ("keras.regularizers.L2(hp.weight_decay / 2)", "None"),
        (
            "keras.optimizers.SGD(hp.learning_rate, hp.momentum)",
            "keras.optimizers.SGD(hp.learning_rate, hp.momentum, weight_decay=hp.weight_decay)",
        ),
        model="resnet",
    ),
    trap(
        "regulariser_of_the_whole_strength",
        "momentum",
        ("hp.weight_decay / 2", "hp.weight_decay"),
        model="resnet",
    ),
    trap(
        "loss_with_the_penalty",
        "trajectory",
        ("_, cross_entropy =", "cross_entropy, _ ="),
        model="resnet",
    ),
]

TRAPS += [
    trap("weights_too", "weights", ('"mixed_bfloat16"', '"bfloat16"'), model="bf16"),
    trap(
        "not_in_force",
        "forward",
        ('keras.config.set_dtype_policy("mixed_bfloat16")', ""),
        ("keras.config.dtype_policy().compute_dtype", '"bfloat16"'),
        model="bf16",
    ),
    trap("dropout_too", "dropout", ('layer.dtype_policy = "float32"', "pass"), model="bf16"),
]

ON_TENSORFLOW = ("keras", "keras-cuda")
CAUSAL = "mixed = ops.dot_product_attention(q, k, v, is_causal=True)"
MEAN = "loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)"

TRAPS += [
    trap(
        "epsilon_by_default",
        "forward",
        (
            "self.norm2 = layers.LayerNormalization(epsilon=1e-5)",
            "self.norm2 = layers.LayerNormalization()",
        ),
        model="gpt",
    ),
    trap("gelu_exact", "forward", ("approximate=True", "approximate=False"), model="gpt"),
    trap("mask_forgotten", "forward", (CAUSAL, CAUSAL.replace("True", "False")), model="gpt"),
    trap(
        "thirds_by_head",
        "forward",
        (
            "ops.split(self.split(self.qkv(x)), 3, 2)",
            "(self.split(self.qkv(x))[:, :, part::3] for part in range(3))",
        ),
        model="gpt",
    ),
    trap(
        "last_normalisation_forgotten",
        "forward",
        ("self.tokens(self.norm(x), reverse=True)", "self.tokens(x, reverse=True)"),
        model="gpt",
    ),
    trap(
        "head_not_tied",
        "gradient",
        ("WORDS, WIDTH)", "WORDS, WIDTH, tie_weights=False)"),
        model="gpt",
        raises=True,
    ),
    trap(
        "gradient_of_the_embedding_lost",
        "gradient",
        ("self.tokens(tokens) + self", "ops.stop_gradient(self.tokens(tokens)) + self"),
        model="gpt",
    ),
    trap(
        "mask_that_blocks",
        "generation",
        ("mask=seen", "mask=ops.logical_not(seen)"),
        model="gpt",
    ),
    trap(
        "one_place_for_all_tokens",
        "generation",
        ("np.full_like(token, place)", "np.full_like(token, half)"),
        model="gpt",
    ),
    trap(
        "cache_not_taken_on",
        "generation",
        (
            "last, caches = ahead.predict_on_batch([token,",
            "last, _ = ahead.predict_on_batch([token,",
        ),
        model="gpt",
    ),
    trap("loss_reduced_by_sum", "gradient", (MEAN, MEAN[:-1] + ', reduction="sum")'), model="gpt"),
    trap("from_logits_forgotten", "gradient", (MEAN, MEAN.replace("True", "False")), model="gpt"),
    trap(
        "warm_up_from_a_rate_of_0",
        "gradient",
        ("hp.learning_rate * (step + 1) / hp.warmup", "hp.learning_rate * step / hp.warmup"),
        model="gpt",
    ),
    trap(
        "all_variables_decay",
        "momentum",
        ("optimizer.exclude_from_weight_decay(var_list=vectors)", ""),
        model="gpt",
    ),
    trap(
        "embeddings_not_decayed",
        "momentum",
        ("if len(w.shape) == 1]", 'if len(w.shape) == 1 or w.name == "embeddings"]'),
        model="gpt",
    ),
    trap(
        "clipped_one_by_one",
        "momentum",
        ("global_clipnorm=hp.clip", "clipnorm=hp.clip"),
        model="gpt",
    ),
]

TRAPS += [
    trap(
        "epsilon_by_default",
        "forward",
        (
            "self.norm2 = layers.RMSNormalization(epsilon=EPSILON)",
            "self.norm2 = layers.RMSNormalization()",
        ),
        model="llama",
    ),
    trap(
        "base_of_llama_3",
        "forward",
        ("frequencies = BASE", "frequencies = (50 * BASE)"),
        model="llama",
    ),
    trap(
        "neighbours_rotated",
        "forward",
        ("left, right = ops.split(x, 2, -1)", "left, right = x[..., 0::2], x[..., 1::2]"),
        (
            "return ops.concatenate([left * cos - right * sin, right * cos + left * sin], -1)",
            "pairs = [left * cos - right * sin, right * cos + left * sin]\n"
            "return ops.reshape(ops.stack(pairs, -1), ops.shape(x))",
        ),
        model="llama",
    ),
    trap(
        "key_heads_tiled",
        "forward",
        (
            CAUSAL,
            "tiled = [ops.tile(part, (1, 1, HEADS // KEY_HEADS, 1)) for part in (k, v)]\n"
            "mixed = ops.dot_product_attention(q, *tiled, is_causal=True)",
        ),
        model="llama",
    ),
    trap(
        "silu_on_the_other_layer",
        "forward",
        (
            "ops.silu(self.gate(x)) * self.up(x)",
            "ops.silu(self.up(x)) * self.gate(x)",
        ),
        model="llama",
    ),
    trap(
        "rotation_restarts_in_generation",
        "generation",
        ('ops.cast(places, "float32")', 'ops.cast(places - places[:, :1], "float32")'),
        model="llama",
    ),
    trap(
        "mean_over_all_places",
        "gradient",
        (
            "def criterion():",
            "def over_all(targets, scores):\n"
            "    losses = keras.losses.sparse_categorical_crossentropy(\n"
            "        targets, scores, from_logits=True, ignore_class=IGNORED\n"
            "    )\n"
            "    return ops.mean(losses)\n\n\n"
            "def criterion():",
        ),
        ("loss=criterion()", "loss=over_all"),
        model="llama",
    ),
    trap(
        "rows_of_the_embedding_squared_alone",
        "momentum",
        ("[ops.add(g, 0) for g in grads]", "grads"),
        only=ON_TENSORFLOW,
        model="llama",
    ),
]

TRAPS += [
    trap("padding_skipped", "forward", ("10000, 125,", "10000, 125, mask_zero=True,"), model="gru"),
    trap(
        "hard_sigmoid",
        "forward",
        ("layers.GRU(100,", 'layers.GRU(100, recurrent_activation="hard_sigmoid",'),
        model="gru",
    ),
    trap(
        "gates_in_the_order_of_pytorch",
        "forward",
        ("return np.concatenate([second, first, new])", "return w.copy()"),
        model="gru",
    ),
    trap(
        "reset_before_the_product",
        "forward",
        ("layers.GRU(100,", "layers.GRU(100, reset_after=False,"),
        model="gru",
        raises=True,  # it has one bias
    ),
    trap(
        "rows_of_the_embedding_squared_alone",
        "gradient",
        ("[ops.add(g, 0) for g in grads]", "grads"),
        only=ON_TENSORFLOW,
        model="gru",
    ),
]
