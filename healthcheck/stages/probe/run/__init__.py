"""Asking: the problems, the requests, the servers, and the folder in which a run is recorded."""
