from tests.support.plans import weights  # noqa: F401 - a fixture
