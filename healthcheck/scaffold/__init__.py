"""Adapter repositories from the template: made, adopted and updated."""
