"""The fixtures of a whole verification and of a real engine."""

from tests.engine.conftest import engine_environment, engine_path, make_weights, tiny_weights
from tests.verify.conftest import adapter, port, pristine, verify, weights

__all__ = (
    "adapter",
    "engine_environment",
    "engine_path",
    "make_weights",
    "port",
    "pristine",
    "tiny_weights",
    "verify",
    "weights",
)
