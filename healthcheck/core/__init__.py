"""What every stage is made of: checks, findings, results, the ledger that keeps them, and progress."""
