"""For tests of other libraries' networks: a certifier, and the claim that all rungs are climbed."""

from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier

THREADS = 2


def certifier(model):
    """A certifier that reads the reference's results from the cache."""
    return Certifier(model, THREADS, ReferenceCache(model, THREADS))


def climbs_all_rungs(library, model, module):
    """Assert that a library's network, as a module of the contract, passes every rung."""
    certificate = certifier(model).certify(library, module, "same")
    assert certificate["passed"], [rung for rung in certificate["rungs"] if not rung["passed"]]
