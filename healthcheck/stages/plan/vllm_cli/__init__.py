"""The command line of `vllm serve`, release by release."""
