"""The networks that are also written for transformers."""

import pytest

from common import networks


@pytest.fixture(params=[name for name in networks.MODELS if networks.part(name, "hugging_face")])
def model(request):
    return networks.find(request.param)
