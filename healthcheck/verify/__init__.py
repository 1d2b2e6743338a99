"""A verification: the request, the order of the stages, what ran, the repairs."""
