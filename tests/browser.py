"""Chromium without a window, driven by the DevTools protocol over a pair of pipes: it needs no package.

Source: https://chromedevtools.github.io/devtools-protocol. A test that uses it is marked ``peers``, as it needs the
Debian package chromium; CHROMIUM names another binary.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import F_DUPFD_CLOEXEC, fcntl
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

SECONDS = 60.0
"""Time in which an answer has to come."""
MOST_BYTES = 256 << 20
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip


def find_chromium() -> str:
    """The path of the browser. Raises FileNotFoundError that says what to install."""
    found = shutil.which(os.environ.get("CHROMIUM", "chromium")) or shutil.which("google-chrome")
    if not found:
        raise FileNotFoundError("no chromium: apt-get install chromium, or name one in CHROMIUM")
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser with a profile of its own, for a ``with`` block."""
    with TemporaryDirectory(prefix="netpart-browser-", ignore_cleanup_errors=True) as home:
        browser = Browser(home)
        try:
            yield browser
        finally:
            browser.close()


class Browser:
    """The process of a browser, whose profile is the folder ``home``."""

    def __init__(self, home: str) -> None:
        ours, theirs = os.pipe(), os.pipe()
        # Its ends are moved out of the way first, as they may be 3 or 4 themselves.
        ends = [fcntl(ours[0], F_DUPFD_CLOEXEC, 20), fcntl(theirs[1], F_DUPFD_CLOEXEC, 20)]

        def take_ends() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.log = (Path(home) / "stderr").open("wb")
        self.process = subprocess.Popen(
            [find_chromium(), *FLAGS, f"--user-data-dir={home}/profile", "about:blank"], stdout=self.log,
            stderr=self.log, stdin=subprocess.DEVNULL, preexec_fn=take_ends, close_fds=False, start_new_session=True,
        )  # fmt: skip
        for end in (*ends, ours[0], theirs[1]):
            os.close(end)
        self.writes, self.reads = ours[1], theirs[0]
        self.rest = b""
        self.number = 0
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """End the browser with all its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.writes)
        os.close(self.reads)
        self.log.close()

    def call(self, method: str, session: str = "", seconds: float = SECONDS, /, **values: Any) -> dict[str, Any]:
        """The result of a command. Raises RuntimeError if it fails, TimeoutError without an answer in ``seconds``."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": values} | ({"sessionId": session} if session else {})
        rest = memoryview(json.dumps(message).encode() + b"\0")
        while rest:
            rest = rest[os.write(self.writes, rest) :]
        until = monotonic() + seconds
        while (answer := self._next_message(until, method)).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _next_message(self, until: float, what: str) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select.select([self.reads], [], [], max(0.0, until - monotonic()))[0]:
                raise TimeoutError(f"no answer of the browser to {what}")
            got = os.read(self.reads, 1 << 20)
            if not got or len(self.rest) > MOST_BYTES:
                raise RuntimeError(f"the browser ended during {what}")
            self.rest += got
        head, self.rest = self.rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(head)
        return message

    def new_page(self, width: int = 1280, height: int = 900, dark: bool = False) -> Page:
        """An empty page with a viewport of this size."""
        page = Page(self)
        page.resize(width, height)
        page.darken(dark)
        return page


class Page:
    """One tab of ``browser``."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, seconds: float = SECONDS, /, **values: Any) -> dict[str, Any]:
        """The result of a command for this page."""
        return self.browser.call(method, self.session, seconds, **values)

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        """Give the viewport this size in CSS pixels, each of which is ``scale`` pixels of a screenshot."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
            mobile=width < 500,
        )  # fmt: skip

    def darken(self, dark: bool) -> None:
        """Prefer the dark colours, or the light ones."""
        value = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def open(self, url: str) -> None:
        """Go to ``url`` and wait until its document is read. Raises RuntimeError if the browser cannot load it."""
        found = self.call("Page.navigate", url=url)
        if found.get("errorText"):
            raise RuntimeError(f"{url}: {found['errorText']}")
        self.until("document.readyState !== 'loading'")

    def reload(self) -> None:
        """Load the document again."""
        self.run("window.before = true")
        self.call("Page.reload")
        self.until("!window.before && document.readyState !== 'loading'")

    def run(self, script: str, seconds: float = SECONDS) -> Any:
        """The value of an expression of JavaScript, awaited. Raises RuntimeError if it throws."""
        found = self.call("Runtime.evaluate", seconds, expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{script}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def until(self, condition: str, seconds: float = SECONDS) -> Any:
        """Wait until ``condition`` holds in the page, looked at with each frame; return its value."""
        end = monotonic() + seconds
        look = f"new Promise(done => {{ const look = () => {{ const found = ({condition}); if (found) done(found); else"
        while True:
            try:
                return self.run(f"{look} requestAnimationFrame(look); }}; look(); }})", max(0.1, end - monotonic()))
            except RuntimeError as error:  # the document was replaced meanwhile
                if monotonic() > end or not any(word in str(error) for word in ("navigated", "destroyed")):
                    raise
            except TimeoutError:
                raise TimeoutError(f"after {seconds:g} s the page still has not: {condition}") from None

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse at a point of the viewport."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click_on(self, selector: str) -> None:
        """Click in the middle of the first element that ``selector`` finds, scrolled into view."""
        middle = "(r => [r.x + r.width / 2, r.y + r.height / 2])(e.getBoundingClientRect())"
        x, y = self.run(f"(e => {{ e.scrollIntoView({{block: 'center'}}); return {middle}; }})"
                        f"(document.querySelector({json.dumps(selector)}))")  # fmt: skip
        self.click(x, y)

    def press(self, key: str, code: str = "") -> None:
        """Press and release a key, named as in KeyboardEvent.key."""
        text = {"text": key} if len(key) == 1 else {}
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        number = {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, **text, **number)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key, **number)

    def type(self, text: str) -> None:
        """Insert ``text`` where the focus is."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """Write what is seen, or the ``whole`` page, as PNG to ``path``."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b64decode(found["data"]))

    def found_events(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all events ``method`` of this page so far."""
        self.call("Runtime.evaluate", expression="0")  # reads what has come
        return [e["params"] for e in self.browser.events
                if e.get("method") == method and e.get("sessionId") == self.session]  # fmt: skip

    def requests(self) -> list[str]:
        """The URLs that this page has asked for."""
        return [event["request"]["url"] for event in self.found_events("Network.requestWillBeSent")]

    def errors(self) -> list[str]:
        """Exceptions, and errors in the log of the browser, such as a breach of the content security policy."""
        thrown = [str(event["exceptionDetails"]) for event in self.found_events("Runtime.exceptionThrown")]
        logged = [event["entry"]["text"] for event in self.found_events("Log.entryAdded")
                  if event["entry"]["level"] == "error"]  # fmt: skip
        return thrown + logged
