"""From weights and a machine to `vllm serve` arguments. Standard library only; travels with every adapter.

weights      what is in MODEL_PATH            settings   what the author or the operator decided
device       the NPUs of this machine         chips      what is known of each kind of NPU
experts      the part of it that copies share
plan         all decisions, from: precision (dtype, quantisation), parallel (devices, copies), memory (cache),
             serving (context, sequences, inputs), models (graphs and needs of single models),
             environment (variables), nodes (several machines)
script       the plan as lines for a deploy.sh that decides nothing itself
sourced      CANN's environment scripts       ready      whether the server answers yet
"""
