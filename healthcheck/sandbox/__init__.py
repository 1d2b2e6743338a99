"""Runs a program that nobody vouches for: no network, a throw-away file system, bounded in everything."""
