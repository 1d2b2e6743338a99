"""The endpoint stage: a running server's answers to the evaluation client, and faults that the client overlooks."""
