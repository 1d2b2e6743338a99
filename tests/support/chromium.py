"""A headless Chromium over its debugging pipe: tests see a page as a browser shows it."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE_S = 240  # a machine that is busy with other tests takes minutes
# The browser reads commands from descriptor 3 and writes answers to 4.
STARTER = """import fcntl, os, sys
kept = [fcntl.fcntl(int(text), fcntl.F_DUPFD, 10) for text in sys.argv[1:3]]
for place in (3, 4):
    os.dup2(kept[place - 3], place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def found() -> str | None:
    """The installed browser, None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser; `open` returns tabs."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        root = ("--no-sandbox",) if os.geteuid() == 0 else ()
        program = [str(found()), *FLAGS, *root, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", STARTER, str(commands), str(answers), *program],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._held = b""
        self._last = 0
        self._open = ""
        self.events: list[dict] = []

    def open(self, place: Path | str, *, width: int, height: int = 900, dark: bool = False) -> Tab:
        """Load a file or an address into a new tab of this size, and close the previous tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        if self._open:
            self.call("Target.closeTarget", targetId=self._open)
        self._open = target
        tab = Tab(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{domain}.enable")
        tab.call("Page.setLifecycleEventsEnabled", enabled=True)
        tab.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tab.call("Emulation.setEmulatedMedia", features=[scheme])
        tab.load(place if isinstance(place, str) else place.resolve().as_uri())
        return tab

    def call(self, method: str, session: str = "", **parameters: object) -> dict:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        os.write(self._to, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        answer = self._until(lambda got: got.get("id") == message["id"])
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def close(self) -> None:
        os.close(self._to)
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        os.close(self._from)
        self._profile.cleanup()

    def event(self, wanted: Callable[[dict], bool]) -> dict:
        """The first event that matches, past or future."""
        return next(filter(wanted, self.events), None) or self._until(wanted)

    def _until(self, wanted: Callable[[dict], bool]) -> dict:
        end = time.monotonic() + PATIENCE_S
        while True:
            message = self._message(end)
            if "method" in message:
                self.events.append(message)
            if wanted(message):
                return message

    def _message(self, end: float) -> dict:
        while b"\0" not in self._held:
            assert select.select([self._from], [], [], max(end - time.monotonic(), 0))[0], "the browser is silent"
            data = os.read(self._from, 2**20)
            assert data, f"the browser ended with status {self._process.poll()}"
            self._held += data
        text, _, self._held = self._held.partition(b"\0")
        return json.loads(text)


class Tab:
    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self._frame = self._document = ""

    def load(self, url: str) -> None:
        """Go to an address; waits until the page is loaded."""
        self._browser.events.clear()
        going = self.call("Page.navigate", url=url)
        self._frame = going["frameId"]
        self._loaded(lambda document: document == going["loaderId"])

    def follow(self, selector: str) -> None:
        """Click a link; waits until its page is loaded."""
        self._browser.events.clear()
        self.click(selector)
        self._loaded(lambda document: document != self._document)

    def call(self, method: str, **parameters: object) -> dict:
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression: str) -> object:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait in the page until an expression holds; it is evaluated after each change of the document."""
        self.evaluate(
            f"new Promise(done => {{ const look = () => {{ if ({expression}) done() }};"
            " new MutationObserver(look).observe(document,"
            " {subtree: true, childList: true, attributes: true, characterData: true}); look() })"
        )

    def text(self, selector: str = "body") -> str:
        """The rendered text of an element, as a reader would copy it."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """Click the middle of an element with a real mouse event, once the page is drawn where it was scrolled to."""
        place = self.evaluate(
            f"(async () => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'"
            ", behavior: 'instant'}); for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key that types nothing: Tab, ArrowRight."""
        codes = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def complaints(self) -> list[dict]:
        """Errors, exceptions and refusals since the page began to load."""
        return [
            event
            for event in self._events()
            if event["method"] == "Runtime.exceptionThrown"
            or (event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in {"error", "assert"})
            or (event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in {"error", "warning"})
        ]

    def requests(self) -> list[str]:
        """The addresses that the page requested since it began to load, its own included."""
        sent = [event for event in self._events() if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def _events(self) -> list[dict]:
        """The events of this page only: a page that was closed before may still have sent some."""
        return [event for event in self._browser.events if event.get("sessionId") == self._session]

    def _loaded(self, wanted: Callable[[str], bool]) -> None:
        """Wait until a document of the page itself, no frame in it, is loaded.

        Compared by document: the empty page of a new tab is loaded too, maybe after the next one begins to load.
        """

        def is_that(event: dict) -> bool:
            of = event.get("params", {})
            return (
                event.get("method") == "Page.lifecycleEvent"
                and event.get("sessionId") == self._session
                and (of["name"], of["frameId"]) == ("load", self._frame)
                and wanted(of["loaderId"])
            )

        self._document = self._browser.event(is_that)["params"]["loaderId"]
