"""Makes, adopts and updates adapter repositories from the template."""

KIT_FOLDER = ".kit"
"""The folder of a repository for a wheel of the kit, which its author may put there for the workflows."""
