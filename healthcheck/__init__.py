"""The verification kit: it sees a submission as the evaluation service does."""

__version__ = "0.1.0"
