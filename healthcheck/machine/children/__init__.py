"""A program for the machine's own Python: it imports the standard library alone, and the kit never imports it."""
