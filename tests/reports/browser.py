"""A headless Chromium, driven through a pipe by its own protocol: nothing else is installed."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
TIMEOUT = 60.0


class Browser:
    """One page of one browser, in a profile of its own."""

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(prefix="hardbayes-chromium-")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def wire():  # the protocol reads from file 3 and writes to file 4
            copies = os.dup(theirs_in), os.dup(theirs_out)
            for copy, number in zip(copies, (3, 4), strict=True):
                os.dup2(copy, number)

        self._process = subprocess.Popen(
            [
                CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions",
                "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
                f"--user-data-dir={self._profile.name}", "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=wire,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._number, self._buffer, self._session = 0, b"", None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        for _ in range(50):  # its children go a moment later
            try:
                self._profile.cleanup()
                return
            except OSError:
                time.sleep(0.05)

    def call(self, method, **parameters):
        """Call a method of the protocol and return its result; events are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, *, width=1280, height=900, dark=False, script=True):
        """Open a file and wait until it is loaded."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def run(self, expression):
        """Return the value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def press(self, key):
        """Press a key of the keyboard, such as "Tab" or "ArrowLeft"."""
        code = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=code[key], text="\r" if key == "Enter" else "",
            )  # fmt: skip

    def drag(self, begin, end):
        """Press the mouse at a point (x, y) of the window, move it to another and release it."""
        for kind, (x, y) in (
            ("mousePressed", begin), ("mouseMoved", end), ("mouseReleased", end)
        ):  # fmt: skip
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1,
                clickCount=1,
            )  # fmt: skip

    def complaints(self):
        """Return errors and warnings of the page, such as those of its policy."""
        self.run("0")  # what was said so far has arrived
        logs = [
            e["params"]["entry"]["text"] for e in self.events if e.get("method") == "Log.entryAdded"
        ]
        thrown = [
            e["params"]["exceptionDetails"]["text"]
            for e in self.events
            if e.get("method") == "Runtime.exceptionThrown"
        ]
        return logs + thrown

    def requests(self):
        """Return the addresses of everything that the page has loaded."""
        return [
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent"
        ]

    def screenshot(self, path, *, whole=False):
        """Store a picture of the window, or of the whole page."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def pdf(self, path):
        """Print the page to a file."""
        printed = self.call("Page.printToPDF", printBackground=False)
        path.write_bytes(base64.b64decode(printed["data"]))

    def _read(self):
        while b"\0" not in self._buffer:
            block = os.read(self._in, 1 << 20)
            if not block:
                raise RuntimeError("the browser has ended")
            self._buffer += block
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)
