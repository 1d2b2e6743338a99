from tests.support.probes import probe  # noqa: F401 - a fixture
