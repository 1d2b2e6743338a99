"""The engine's configuration, built without an NPU by the real vLLM and vllm-ascend in their own environment."""
