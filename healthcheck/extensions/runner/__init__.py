"""Checks whether this machine or CI runner can run adapters: facts about it, and checks."""
