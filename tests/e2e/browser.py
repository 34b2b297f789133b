"""A headless Chromium, driven through its own pipe (--remote-debugging-pipe): no port, no package.

`Browser(path)` starts one, `open(file)` loads a page, `run(expression)` evaluates in it, `key`,
`click`, `type` act as a user does. Everything that the page asked the network for, printed as an error or
threw is kept, for the test to judge.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

TIMEOUT = 3600  # for a browser that hangs


def find():
    """The path of a Chromium, or None."""
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
        "ArrowDown": 40, "Tab": 9, "Backspace": 8, "Home": 36}


class Browser:
    def __init__(self, path, width=1200, height=900):
        self.dir = tempfile.mkdtemp(prefix="pprofdelta-browser-")
        to_child, self.to = os.pipe()
        self.from_, from_child = os.pipe()
        moved = [os.dup(fd) for fd in (to_child, from_child)]  # out of the way of 3 and 4

        def take_3_and_4():
            os.dup2(moved[0], 3)
            os.dup2(moved[1], 4)

        self.process = subprocess.Popen(
            [path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--force-color-profile=srgb", f"--user-data-dir={self.dir}/profile",
             f"--window-size={width},{height}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=take_3_and_4, env={**os.environ, "HOME": self.dir})
        for fd in (to_child, from_child, *moved):
            os.close(fd)
        self.count, self.buffer = 0, b""
        self.requests, self.errors, self.loaded = [], [], 0
        self.session = None  # before there is one, the browser itself is spoken to
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    # ---- the pipe ----------------------------------------------------------------------------------

    def _receive(self):
        deadline = time.monotonic() + TIMEOUT
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.from_, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(json.dumps(params["args"])[:2000])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("a dialog: " + params["message"])
            self.call("Page.handleJavaScriptDialog", accept=True)
        elif method == "Page.loadEventFired":
            self.loaded += 1

    def call(self, method, **params):
        self.count += 1
        number = self.count
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    # ---- what a user does --------------------------------------------------------------------------

    def open(self, path, address=""):
        """A file, with a hash of its address; or about:blank."""
        self.requests, self.errors, before = [], [], self.loaded
        url = path if path.startswith("about:") else "file://" + os.path.abspath(path)
        self.call("Page.navigate", url=url + address)
        while self.loaded == before:
            self._note(self._receive())
        self.settle()

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def settle(self):
        """Until two pictures were drawn in which nothing moved."""
        self.run("new Promise(done => { const look = still => requestAnimationFrame(() => "
                 "document.querySelector('[data-moves=true]') ? look(0) : "
                 "still < 2 ? look(still + 1) : done()); look(0) })")

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def point(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="none")
        self.settle()

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=1,
                      button="none" if kind == "mouseMoved" else "left")
        self.settle()

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def scheme(self, name):
        """Sets the user's preference: light or dark."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name}])
        self.settle()

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.settle()

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError, RuntimeError):
            self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.from_)
        shutil.rmtree(self.dir, ignore_errors=True)
