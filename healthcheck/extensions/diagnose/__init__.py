"""The command `diagnose`: the cause of a failed launch, from its log."""
