"""Makes, adopts and updates adapter repositories from the template."""

KIT_FOLDER = ".kit"
"""The folder of a repository for the kit's wheel, which its workflows install."""
