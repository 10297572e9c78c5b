"""What the parity tests share: one certifier, so that the reference computes everything once."""

import pytest

from common.certificate import Certifier


@pytest.fixture(scope="session")
def certifier(threads):
    return Certifier(threads)
