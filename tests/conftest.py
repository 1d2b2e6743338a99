from __future__ import annotations

import signal

from hypothesis import settings

# A deadline for each example is a timing assertion, which a busy machine fails.
settings.register_profile("kit", deadline=None)
settings.load_profile("kit")


def pytest_configure() -> None:
    """A shell starts its background jobs deaf to Ctrl-C, and children inherit that; the tests need signals heard."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)
