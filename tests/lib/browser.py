# SPDX-License-Identifier: MIT
"""browser.py - headless Chromium, driven by the DevTools protocol over a pipe: real clicks and keys, and what the page
complained about."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Backspace": (8, ""), "Home": (36, ""), "End": (35, ""), "Tab": (9, ""),
        "ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""), " ": (32, " ")}


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page. `complaints` has each console error, exception, refused load and request for a network."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="memtop-browser-")
        to_child, self.out = os.pipe()
        self.inp, from_child = os.pipe()

        def give():
            os.dup2(to_child, 100)
            os.dup2(from_child, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.process = subprocess.Popen(
            [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
             f"--user-data-dir={self.home}", "about:blank"],
            close_fds=False, preexec_fn=give, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**{k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}, "HOME": self.home})
        os.close(to_child)
        os.close(from_child)
        self.buffer, self.number, self.session, self.complaints, self.requests, self.events = b"", 0, None, [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.inp)
        shutil.rmtree(self.home, ignore_errors=True)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read(60)
            if answer is None:
                raise AssertionError(f"the browser did not answer {method}")
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def read(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.inp], [], [], max(0, end - time.monotonic()))[0]:
                return None
            got = os.read(self.inp, 1 << 20)
            assert got, "the browser ended"
            self.buffer += got
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.note(message)
        return message

    def note(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(p["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.complaints.append(f"console.{p['type']}: {[a.get('value', a.get('description')) for a in p['args']]}")
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{p['entry']['source']}: {p['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        if method:
            self.events.append(method)

    def open(self, path, wide=1280, high=900, dark=False):
        """Loads the file and waits until it has drawn itself; the seconds that took."""
        self.call("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        begin = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("document.documentElement?.dataset.ready === 'yes' || (document.getElementById('problem') && "
                  "!document.getElementById('problem').hidden)", "the page")
        self.frame()
        return time.monotonic() - begin

    def frame(self):
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def run(self, script):
        r = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in r, r["exceptionDetails"]
        return r["result"].get("value")

    def wait(self, script, what, seconds=60):
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < end, f"{what}: never came; complaints: {self.complaints}"
            time.sleep(0.01)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def middle(self, selector):
        at = self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{ block: 'center' }}); "
                      "const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()")
        assert at, f"{selector}: not on the page"
        return at

    def mouse(self, kind, x, y, held=False):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" and not held else "left",
                  buttons=1 if held else 0, clickCount=1)

    def click_at(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)
        self.frame()

    def click(self, selector):
        self.click_at(*self.middle(selector))

    def drag(self, x0, y0, x1, y1):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, True)
        for part in (0.3, 0.7, 1):
            self.mouse("mouseMoved", x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, True)
        self.mouse("mouseReleased", x1, y1)
        self.frame()

    def key(self, name, shift=False):
        code, text = KEYS.get(name, (ord(name[0].upper()), name))
        p = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", **p, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **p)
        self.frame()

    def type(self, text):
        for letter in text:
            self.key(letter)

    def picture(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
