"""From weights and a machine to `vllm serve` arguments. Standard library only; travels with every adapter.

weights   what is in MODEL_PATH          settings   what the author or the operator decided
device    which NPUs this machine has    plan       a pure function of the three: one decision an option
"""
