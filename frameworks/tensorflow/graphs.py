"""Graphs that TensorFlow keeps for ever.

Each time a function with a custom gradient, such as SiLU, is traced, TensorFlow registers that
gradient under a new name, and with it the graph: 100 MB for a step of the Llama.
"""

from tensorflow.python.framework.ops import gradient_registry  # no public name has it


def forget():
    """Drop the graphs of all traced custom gradients; no model of before can be traced again."""
    kept = gradient_registry._registry
    for name in [name for name in kept if name.startswith("CustomGradient-")]:
        del kept[name]
