"""Recording a pass through a Keras 3 network that ``fit`` trains.

Idiom: the same second model over the layers.
"""

from frameworks.keras.record import record

__all__ = ["record"]
