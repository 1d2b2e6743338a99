"""The stages of a verification, in the order repo, plan, weights, service, endpoint, probe."""
