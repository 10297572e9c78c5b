"""Profiling MXNet's Module: what each operator takes.

Idiom: Module is profiled as Gluon is, by ``mx.profiler`` around the steps.
"""

from frameworks.mxnet.profile import profile

__all__ = ["profile"]
