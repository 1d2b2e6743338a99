"""Recorded commands: which model server each one starts, and with which options."""
