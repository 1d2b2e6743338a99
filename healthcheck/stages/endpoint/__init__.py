"""The endpoint stage: a server's responses to the evaluation client, and faults that the client ignores."""
