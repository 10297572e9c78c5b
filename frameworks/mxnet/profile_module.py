"""Profile MXNet's Module: the time of each operator.

Idiom: Module is profiled as Gluon is, by ``mx.profiler`` around the steps.
"""

from frameworks.mxnet.profile import profile

__all__ = ["profile"]
