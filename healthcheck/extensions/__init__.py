"""The kit's own extensions, as listed in `OWN` of healthcheck/core/extensions.py, and the plugin of pytest.

The core imports none of them and works without their folders: an option that needs a missing one is refused.
"""
