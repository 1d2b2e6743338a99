"""Words: messages and their languages, redaction, did-you-mean, reasoning, signs of degenerate text."""
