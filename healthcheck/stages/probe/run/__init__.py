"""Sampling: the problems, the requests, the servers, and the run folder."""
