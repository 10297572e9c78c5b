"""The GPT in PyTorch.

Idiom: ``nn.Module`` blocks, ``scaled_dot_product_attention``, AdamW with two groups of parameters.
Layout: tokens (N, T), activations (N, T, D), heads (N, H, T, D / H).
AdamW: ``w = w - lr * decay * w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t,
    1 - beta2**t.
Surprise: ``parameters()`` lists the tied weight once and ``state_dict()`` twice, so that clipping
    and decay count it once and a loop over the state would copy it twice.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from frameworks.pytorch import mlp
from frameworks.pytorch.cnn import place, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sequences, targets, settings):
    """Tokens (n, T) int64 and the token after each (n, T), as they are."""
    return sequences, targets


class Attention(nn.Module):
    """Causal self-attention; with a cache, only for the one token after those that it holds."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, cache=None):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        n, t, _ = x.shape
        qkv = self.qkv(x).view(n, t, 3, HEADS, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (N, H, T, D / H) each
        if cache is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(cache, (k, v)))
        # A single new token may look at all; `is_causal` would align it with the first key.
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return self.out(mixed.transpose(1, 2).reshape(n, t, WIDTH)), (k, v)


class MLP(nn.Module):
    """Two dense layers with a GELU between them, by its approximation with a tanh."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        """Activations (N, T, D)."""
        return self.down(F.gelu(self.up(x), approximate="tanh"))  # (N, T, 4 D) between


class Block(nn.Module):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)  # epsilon 1e-5, inside the root
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP()

    def forward(self, x, cache=None):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class GPT(nn.Module):
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, caches=None):
        """Scores (N, T, 65) of the token after each, and the blocks' caches."""
        first = 0 if caches is None else caches[0][0].shape[2]
        places = torch.arange(first, first + tokens.shape[1], device=tokens.device)
        x, new = self.tokens(tokens) + self.positions(places), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches or [None] * BLOCKS):
            x, cache = block(x, cache)
            new.append(cache)
        return self.head(self.norm(x)), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return place(GPT(), settings)


def optimizer_of(network, settings, hp):
    """AdamW, which decays matrices and embeddings alone, and the schedule of its rate."""
    matrices = [w for w in network.parameters() if w.ndim > 1]  # the tied one once
    vectors = [w for w in network.parameters() if w.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}],
        lr=hp.learning_rate,
        betas=(hp.beta1, hp.beta2),
        eps=hp.epsilon,
        weight_decay=hp.weight_decay,  # times the rate
        fused=settings["fused_optimizer"] or None,  # False would forbid ``foreach``, too
    )

    def factor(step):
        if step < hp.warmup:
            return (step + 1) / hp.warmup
        part = min(1, (step - hp.warmup) / (hp.steps - hp.warmup))
        low = hp.last_rate / hp.learning_rate
        return low + (1 - low) * (1 + math.cos(math.pi * part)) / 2

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)  # times learning_rate
    return optimizer, schedule


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and schedule, with the initial weights."""
    tensors = {name: torch.from_numpy(w) for name, w in weights.items()}
    network.load_state_dict(dict(tensors, **{"head.weight": tensors["tokens.weight"]}))
    criterion = nn.CrossEntropyLoss()  # log-softmax, then the mean over all places
    optimizer, schedule = optimizer_of(network, settings, hp)
    return network, criterion, optimizer, schedule, hp.clip  # the norm to which train() clips


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer, schedule, clip = model
    device = network.tokens.weight.device
    network.train()
    for x, y in batches:
        x = torch.from_numpy(x).to(device, non_blocking=True)  # (N, T)
        y = torch.from_numpy(y).to(device, non_blocking=True)
        optimizer.zero_grad()
        scores, _ = network(x)  # (N, T, 65)
        step_loss = criterion(scores.flatten(0, 1), y.flatten())
        step_loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), clip)
        optimizer.step()
        schedule.step()  # the next step's rate
        yield step_loss.detach()


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    network, half = model[0], x.shape[1] // 2
    device = network.tokens.weight.device
    network.eval()
    outputs = []
    with torch.inference_mode():
        for part in torch.from_numpy(x).to(device).split(64):
            scores = [network(part)[0]]  # (N, T, 65)
            last, caches = network(part[:, :half])
            for _ in range(half):
                token = last[:, -1:].argmax(-1)  # greedy
                last, caches = network(token, caches)  # (N, 1, 65)
                scores.append(last)
            outputs.append(torch.cat(scores, 1).cpu())
    return torch.cat(outputs).numpy()


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    given = torch.from_numpy(scores)[:, : targets.shape[1]]
    return F.cross_entropy(given.flatten(0, 1), torch.from_numpy(targets).flatten()).item()


def weights(model):
    """Every weight under its canonical name; PyTorch's layouts are the canonical ones."""
    parameters = model[0].named_parameters()  # the tied one once, as "tokens.weight"
    return {name: w.numpy(force=True).copy() for name, w in parameters}
