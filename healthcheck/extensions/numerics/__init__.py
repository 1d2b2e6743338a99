"""Numerics of a server: requests that must give the same log-probabilities, compared."""
