"""From weights and a machine to `vllm serve` arguments. Standard library only; travels with every adapter.

weights      what is in MODEL_PATH            settings   what the author or the operator decided
device       which NPUs this machine has      chips      what is known of each kind of NPU
experts      which part of it copies share
plan         all decisions, from: precision (dtype, quantisation), parallel (devices, copies), memory (cache),
             serving (context, sequences, inputs), models (graphs and what single models need),
             environment (variables), nodes (several machines)
sourced      CANN's environment scripts       ready      whether the server answers yet
"""
