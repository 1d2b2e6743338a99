"""What a program in Python is recorded to call; its servers are named after their library, with CALL in front."""

CALL = "python:"
LOADS_MODEL = f"{CALL}model"
DOWNLOADS = f"{CALL}download"
GUESSED = f"{CALL}guessed"
"""What it depends on, where a real library would have answered something."""
