from tests.plan.conftest import weights  # noqa: F401 - a fixture
