"""Interprets recorded commands: the model server that each one starts, and its options."""
