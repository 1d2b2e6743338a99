"""The parts of every stage: checks, findings, results, the ledger that keeps them, and progress."""
