"""Names of recorded Python calls. The name of a server is CALL with the library that starts it."""

CALL = "python:"
LOADS_MODEL = f"{CALL}model"
DOWNLOADS = f"{CALL}download"
GUESSED = f"{CALL}guessed"
"""The program depends on values that only the real libraries can return, or was replaced by a placeholder."""
PROGRAM = "program"
"""The first word of such a record if a placeholder took the place of a program; the second is its name."""
