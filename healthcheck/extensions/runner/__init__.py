"""Checks whether this machine or CI runner can run adapters: facts about it, checks, and recordings of both."""
