"""The command line of `vllm serve` in each release."""
