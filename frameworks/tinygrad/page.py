"""The code that shows each row and phrase of the page: see reports/reading.py."""

ROWS = {
    "device": ("cpu =", '"device"'),
    "threads": "NUM_CPU_THREADS",
    "precision": "ALLOW_TF32",
    "autotune": "BEAM",
    "switches": '"jit"',
    "conv": ("self.conv{} =", "self.conv{}("),
    "relu": "relu()",
    "pool": "max_pool2d",
    "dropout": "x.dropout",
    "flatten": "x.flatten",
    "dense": ("self.dense{} =", "self.dense{}("),
    "weights-in": "put(",
    "loss-function": "sparse_categorical_crossentropy",
    "optimiser": ("nn.optim.SGD", "parameters =", "schedule_step"),
    "gradient": ("step_loss.backward", "optimizer.zero_grad"),
    "compiled": "return recorded",
    "train-on": "Context(TRAINING=1)",
    "batch": ("x =", "y ="),
    "forward backward update": "step(x, y)",
    "train-off": "forward(",
    "batches": ("part =", "part[", "np.concatenate"),
}
UNSAID = "drop-seed declared input device-network reset no-gradient"

ADAM = {"optimiser": ("nn.optim.Adam", "parameters =", "schedule_step")}
TEXT = {
    "embedding": ("self.tokens = nn.Embedding", "self.tokens(tokens)"),
    "norm": ("self.norm1 =", "self.norm2 =", "self.norm ="),
    "attention": "scaled_dot_product_attention",
    "mask": "is_causal",
    "cache": ("here =", "kept.assign"),
    "residual": ("x = x + self.attention", "x + self.mlp"),
    "blocks": ("self.blocks =", "in zip(self.blocks"),
    "loss-function": "sparse_categorical_crossentropy",
    "decay": ("matrices =", "vectors =", "decaying =", "others ="),
    "optimiser": ("OptimizerGroup", "rest =", "schedule_step"),
    "schedule": ("def rate_of", "lr.assign"),
    "clipping": ("norm = sum", "hp.clip"),
    "greedy": "argmax",
    "generate": ("in range(2 * half)", "following("),
}
NETWORKS = {
    "mlp": ADAM,
    "lenet5": {**ADAM, "sigmoid": "sigmoid()"},
    "gpt": {
        **TEXT,
        "positions": ("self.positions = nn.Embedding", "places = Tensor.arange(tokens"),
        "heads": ("self.qkv =", "qkv =", "q, k, v ="),
        "gelu": ".gelu()",
        "head": "self.tokens.weight.T",
    },
    "llama": {
        **TEXT,
        "mask": ("is_causal", "attn_mask"),
        "rotary": ("def rotations", "def rotate", "rotate("),
        "heads": ("self.q =", "self.k =", "self.v =", "narrow ="),
        "swiglu": ("silu()", "self.gate =", "self.up =", "self.down ="),
        "head": ("self.head =", "self.head(self.norm(x))"),
        "ignored": "ignore_index",
    },
}

PHRASES = {
    "padding": "padding=1",
    "gradients reset": "zero_grad",
    "weights taken out": "get_state_dict",
    "training, not prediction": "Context(TRAINING=1)",
    "backward": "step_loss.backward",
    "graph or JIT": "TinyJit(step)",
    "sigmoid": "sigmoid()",
    "save weights": "safe_save(",
    "restore weights": "load_state_dict(",
    "record a pass": "setattr(Tensor, name, call)",
    "profile": "Context(DEBUG=2)",
}
