"""What each command takes: a module a command, which imports no more than `--help` prints."""
