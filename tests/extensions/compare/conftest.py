from tests.support.inputs import runs  # noqa: F401 - a fixture
