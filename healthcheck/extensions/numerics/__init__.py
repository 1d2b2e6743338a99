"""Numerics of a server: compares requests that must have the same log-probabilities."""
