from tests.support.inputs import log, runs  # noqa: F401 - fixtures
