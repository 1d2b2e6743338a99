"""Renderers: a Report in, text out. They only read."""
