"""What `verify --deep` does: the real vLLM and vllm-ascend build the configuration of the recorded command."""
