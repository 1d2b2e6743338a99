"""Analyses deploy.sh: its text, its trace and its error output."""
