"""The laboratory: figures of a probe that no verdict needs, and the command `score`."""
