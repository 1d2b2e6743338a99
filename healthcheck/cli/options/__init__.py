"""The options of each command, one module per command; `--help` imports nothing else."""
