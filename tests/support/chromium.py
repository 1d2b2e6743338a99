"""The installed Chromium, driven by Playwright: tests see a page as a browser shows it.

Playwright's own browsers are downloads; `executable_path` has it drive the one of the system.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 240_000  # a machine that is busy with other tests takes minutes
COMPLAINTS = frozenset({"error", "warning", "assert"})
"""The kinds of console messages that a sound page has none of."""


def found() -> str | None:
    """The installed browser, None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser; `open` returns tabs, one at a time."""

    def __init__(self) -> None:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=found(),
            args=list(FLAGS),
            chromium_sandbox=os.geteuid() != 0,
            timeout=PATIENCE_MS,
        )
        self._context = self._browser.new_context()

    def open(self, place: Path | str, *, width: int, height: int = 900, dark: bool = False) -> Tab:
        """Load a file or an address into a new tab of this size in pixels, and close the previous tab."""
        self._context.close()
        self._context = self._browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        self._context.set_default_timeout(PATIENCE_MS)
        tab = Tab(self._context.new_page())
        tab.load(place if isinstance(place, str) else place.resolve().as_uri())
        return tab

    def close(self) -> None:
        self._browser.close()
        self._playwright.stop()


class Tab:
    """A page, with what it requested and complained about since it began to load."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._complaints: list[str] = []
        self._requests: list[str] = []
        page.on("pageerror", lambda error: self._complaints.append(str(error)))
        page.on("console", self._note_message)
        page.on("request", self._note_request)

    def load(self, url: str) -> None:
        """Go to an address; waits until the page is loaded."""
        self._forget()
        self._page.goto(url)

    def follow(self, selector: str) -> None:
        """Click a link; waits until its page is loaded."""
        self._forget()
        with self._page.expect_navigation():
            self.click(selector)

    def evaluate(self, expression: str) -> object:
        """The value of an expression in the page; a promise is awaited."""
        value: object = self._page.evaluate(expression)
        return value

    def wait_for(self, expression: str) -> None:
        """Wait until an expression holds in the page."""
        self._page.wait_for_function(expression)

    def text(self, selector: str = "body") -> str:
        """The rendered text of an element, as a reader would copy it."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """Click the middle of the first element with a real mouse event."""
        self._page.locator(selector).first.click()

    def press(self, key: str) -> None:
        """Press a key that types nothing: Tab, ArrowRight."""
        self._page.keyboard.press(key)

    def complaints(self) -> list[str]:
        """Errors, exceptions and refusals since the page began to load."""
        return self._complaints

    def requests(self) -> list[str]:
        """The addresses that the page requested since it began to load, its own included."""
        return self._requests

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        return self._page.screenshot(full_page=True)

    def pdf(self) -> bytes:
        """The page as it would be printed."""
        return self._page.pdf()

    def _forget(self) -> None:
        self._complaints.clear()
        self._requests.clear()

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type in COMPLAINTS:
            self._complaints.append(message.text)

    def _note_request(self, request: Request) -> None:
        self._requests.append(request.url)
