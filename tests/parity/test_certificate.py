"""The module climbs every rung of the parity certificate, in both lanes."""

import pytest

from common.proof import certificate, contract, rungs


@pytest.fixture(scope="module", params=contract.LANES)
def proof(request, name, module, certifier):
    """The certificate of a lane; kept, so that the run that follows need not prove it again."""
    proof = certificate.make(certifier, name, module, request.param)
    print("\n%s, lane %s" % (name, request.param))
    print("\n".join(certificate.table(proof)))
    return proof


@pytest.mark.parametrize("rung", rungs.RUNGS)
def test_rung(proof, rung):
    result = proof["rungs"][rungs.RUNGS.index(rung)]
    assert result["passed"], result["detail"]
