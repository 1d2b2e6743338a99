"""The extension of `verify --deep`: the real vLLM and vllm-ascend build the recorded command's configuration."""
