"""The command `compare`: whether the second of two runs of the probe is worse."""
