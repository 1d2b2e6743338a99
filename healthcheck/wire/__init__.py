"""The wire: bytes in, completions out. What the evaluation client would read, and the faults that it swallows."""
