"""Reports of the service: the command `read` recomputes their figures from their predictions."""
