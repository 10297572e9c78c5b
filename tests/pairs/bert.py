"""BERT: transformers' classes for PyTorch (A) and for TensorFlow (B)."""

import numpy as np
import tensorflow as tf
import tf_keras
import torch
from transformers import BertConfig, BertForSequenceClassification, TFBertForSequenceClassification
from transformers.models.bert import modeling_tf_bert

from frameworks.pytorch import record as of_torch
from frameworks.tensorflow import record as of_tensorflow
from tests.pairs import drawn

CONFIG = dict(
    vocab_size=120,
    hidden_size=64,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=128,
    max_position_embeddings=40,
    num_labels=5,
)
LABELS = [0, 3, 1, 4]


def original(seed, **config):
    network = BertForSequenceClassification(BertConfig(**CONFIG, **config))
    drawn.redraw(network, seed)
    return network


def inputs(seed):
    random = np.random.RandomState(seed + 100)
    ids, kinds = random.randint(1, 120, (4, 14)), random.randint(0, 2, (4, 14))
    mask = (np.arange(14) < np.array([14, 9, 11, 6])[:, None]).astype(int)
    ids = ids * mask  # 0 is padding, whose vector PyTorch alone leaves as it is
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}


def change(mistakes):
    def changed(tensors):
        place = "bert.encoder.layer.%d.attention.%s"
        if "output transposed" in mistakes:
            name = place % (2, "output.dense.weight")
            tensors[name] = tensors[name].T.contiguous()
        if "query and key swapped" in mistakes:
            drawn.exchange(tensors, *(place % (1, "self.%s." % part) for part in ("query", "key")))
        if "bias of the values dropped" in mistakes:
            tensors[place % (1, "self.value.bias")] *= 0
        if "weights of 8 bits" in mistakes:
            name = "bert.encoder.layer.1.output.dense.weight"
            unit = tensors[name].abs().max() / 127
            tensors[name] = (tensors[name] / unit).round() * unit
        if "norms not loaded" in mistakes:
            for name in [name for name in tensors if "LayerNorm" in name]:
                tensors[name] = torch.full_like(tensors[name], name.endswith("weight"))
        if "padding's vector 0" in mistakes:
            tensors["bert.embeddings.word_embeddings.weight"][0] = 0

    return changed


def rounded_softmax(logits, axis):
    return tf.cast(tf.nn.softmax(tf.cast(logits, tf.bfloat16), axis), tf.float32)


def masked_both_ways(attention):
    """As a mask made of an outer product does: no token is seen from the padding."""
    whole = attention.call

    def call(hidden_states, attention_mask, **named):
        queries = tf.transpose(attention_mask, (0, 1, 3, 2)) * 1e5  # -1e9
        return whole(hidden_states, tf.minimum(attention_mask, queries), **named)

    return call


class Uncorrected(tf_keras.optimizers.AdamW):
    """AdamW as BERT's authors wrote it: the averages' start at 0 is not made up for."""

    def update_step(self, gradient, variable):
        gradient, n = tf.convert_to_tensor(gradient), self._index_dict[self._var_key(variable)]
        m, v = self._momentums[n], self._velocities[n]
        m.assign_add((gradient - m) * (1 - self.beta_1))
        v.assign_add((gradient**2 - v) * (1 - self.beta_2))
        variable.assign_sub(self.learning_rate * m / (tf.sqrt(v) + self.epsilon))


def port(network, mistakes):
    config = {}
    if "epsilon" in mistakes:
        config["layer_norm_eps"] = 1e-3
    if "gelu" in mistakes:
        config["hidden_act"] = "gelu_new"
    made = drawn.carried(TFBertForSequenceClassification, network, change(mistakes), **config)
    if "not scaled" in mistakes:
        for layer in made.bert.encoder.layer:
            layer.attention.self_attention.sqrt_att_head_size = 1.0

    if "token types ignored" in mistakes:
        table = made.bert.embeddings.token_type_embeddings
        table.assign(tf.zeros_like(table))
    if "pooler without its tanh" in mistakes:
        made.bert.pooler.dense.activation = tf_keras.activations.linear
    if "last token pooled" in mistakes:
        pooler = made.bert.pooler
        pooler.call = lambda hidden_states: pooler.dense(inputs=hidden_states[:, -1])
    if "epsilon of one norm" in mistakes:
        made.bert.encoder.layer[2].bert_output.LayerNorm.epsilon = 1e-5
    if "residual missing" in mistakes:
        output = made.bert.encoder.layer[1].attention.dense_output
        whole = output.call
        output.call = lambda hidden_states, input_tensor, training=False: whole(
            hidden_states, tf.zeros_like(input_tensor), training=training
        )

    if "queries masked too" in mistakes:
        for layer in made.bert.encoder.layer:
            attention = layer.attention.self_attention
            attention.call = masked_both_ways(attention)
    if "gradient stopped" in mistakes:
        layer_1 = made.bert.encoder.layer[1]
        through = layer_1.call
        layer_1.call = lambda hidden_states, **named: through(
            tf.stop_gradient(hidden_states), **named
        )

    if "sum after the norm" in mistakes:
        part = made.bert.encoder.layer[1].attention.dense_output
        part.call = lambda hidden_states, input_tensor, training=False: (
            part.LayerNorm(inputs=part.dense(inputs=hidden_states)) + input_tensor
        )

    def called(input_ids, attention_mask, token_type_ids):
        given = {"token_type_ids": token_type_ids, "attention_mask": attention_mask}
        if "mask ignored" in mistakes:
            del given["attention_mask"]
        if "mask the other way round" in mistakes:
            given["attention_mask"] = 1 - attention_mask
        if "positions from 2" in mistakes:
            given["position_ids"] = tf.range(2, 16)[None]
        with drawn.stack() as stack:
            if "softmax in bfloat16" in mistakes:
                drawn.patched(stack, modeling_tf_bert, "stable_softmax", rounded_softmax)
            return made(input_ids, training=False, **given)

    called.trainable_variables = made.trainable_variables
    return called


def forward(seed, mistakes=(), exact=False, **config):
    network, x = original(seed, **config), inputs(seed)
    a = of_torch.record(network, x)
    b = of_tensorflow.record(port(network, mistakes), x)
    return a, b, of_torch.exact(network, x) if exact else None


def steps(seed, mistakes=()):
    network, x = original(seed), inputs(seed)
    called = port(network, mistakes)
    epsilon = 1e-7 if "epsilon of Adam" in mistakes else drawn.EPSILON
    kind = Uncorrected if "averages not corrected" in mistakes else tf_keras.optimizers.AdamW
    optimizer = kind(drawn.RATE, drawn.DECAY, *drawn.BETAS, epsilon=epsilon)
    if "all tensors decay" not in mistakes:
        optimizer.exclude_from_weight_decay(var_names=["LayerNorm", "bias"])
    entropy = torch.nn.functional.cross_entropy
    a = of_torch.record_step(
        network,
        x,
        lambda out: entropy(out.logits, torch.tensor(LABELS)),
        drawn.decayed(network),
        steps=3,
    )
    b = of_tensorflow.record_step(
        called,
        x,
        lambda out: tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, out.logits)
        ),
        optimizer,
        steps=3,
    )
    return a, b, None
