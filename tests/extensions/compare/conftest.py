from tests.cli.conftest import runs  # noqa: F401 - a fixture
