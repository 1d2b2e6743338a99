"""The fixtures of a whole verification and of a real engine."""

from tests.support.real_vllm import engine_environment, engine_path, make_weights, tiny_weights
from tests.support.verifications import adapter, port, pristine, verify, weights

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
