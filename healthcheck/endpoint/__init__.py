"""The endpoint stage: what a running server answers to the evaluation client, and what that client would miss."""
