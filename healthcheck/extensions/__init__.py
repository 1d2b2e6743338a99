"""The kit's own extensions, a folder each, as `OWN` of healthcheck/core/extensions.py names them.

The core imports none of them, and works without their folders: an option that needs one says so.
"""
