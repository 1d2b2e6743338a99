"""Renderers: they turn a Report into text, and only read it."""
