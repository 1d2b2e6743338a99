"""Two runs of the probe side by side: the command `compare`, its page, and whether the second run is worse."""
