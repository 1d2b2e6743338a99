"""Adapter repositories from the template: made, adopted and updated."""

KIT_FOLDER = ".kit"
"""Where a repository has the kit's wheel, for its workflows."""
