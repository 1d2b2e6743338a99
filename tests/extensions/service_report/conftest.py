from tests.cli.conftest import log, runs  # noqa: F401 - fixtures
