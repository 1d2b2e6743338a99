from tests.support.real_vllm import engine_environment, engine_path, make_weights, tiny_weights

__all__ = ("engine_environment", "engine_path", "make_weights", "tiny_weights")
