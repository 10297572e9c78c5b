"""Recording a pass through a Keras 3 network that ``fit`` trains.

Idiom: the plain network's recorder; the network is the same, whoever trains it.
"""

from frameworks.keras.record import EXACT_LACKS, exact, record

__all__ = ["EXACT_LACKS", "exact", "record"]
