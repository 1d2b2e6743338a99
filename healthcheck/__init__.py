"""The verification kit: what it sees of a submission is what the evaluation service sees of it."""

__version__ = "0.1.0"
