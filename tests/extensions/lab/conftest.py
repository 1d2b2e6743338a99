from tests.probe.conftest import probe  # noqa: F401 - a fixture
