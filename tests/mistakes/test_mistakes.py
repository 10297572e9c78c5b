"""Every known mistake is caught, at the rung that names it; the untouched module is not."""

from tests.mistakes import planted


def pytest_generate_tests(metafunc):
    if "mistake" in metafunc.fixturenames:
        known = planted.mistakes(metafunc.config.getoption("--framework"))
        metafunc.parametrize("mistake", known, ids=[one.name for one in known])


def test_mistake_is_caught_at_its_rung(certifier, module, mistake):
    rung, detail = planted.caught(certifier, module, "same", mistake)
    print("%s: %s" % (rung, detail))
    assert rung == mistake.rung
