"""Can this machine, or this CI runner, run adapters? Facts about it, checks over them, and recordings of both."""
