"""Runs an untrusted program without network, in a throw-away file system, with a limit on every resource."""
