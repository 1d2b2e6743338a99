"""The kit's own extensions, one folder each, as listed in `OWN` of healthcheck/core/extensions.py.

The core imports none of them and works without their folders: an option that needs a missing one is refused.
"""
