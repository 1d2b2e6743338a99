"""Defaults and values of options of `npu-adapter fleet`, which its subcommands also use."""

LOCAL = "local"
"""The value of --on for this machine."""
LEVELS = (1, 2, 3)
LEVEL = 2
ATTEMPT_LIMIT_S = 4 * 3600.0
EXAMINATION_LIMIT_S = 3600.0
"""For one machine; `fleet verify --runner` has no option for it."""
