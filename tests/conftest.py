from __future__ import annotations

from hypothesis import settings

# A deadline for each example is a timing assertion, which a busy machine fails.
settings.register_profile("kit", deadline=None)
settings.load_profile("kit")
