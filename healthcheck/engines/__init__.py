"""Inference servers as values: how each is started, and what the kit knows of its options, weights and memory.

A check asks such a value a question ("are its options catalogued?") and never compares its name.
"""
