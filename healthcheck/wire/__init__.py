"""HTTP: bytes in, completions out, as the evaluation client reads them, with the faults that it ignores."""
