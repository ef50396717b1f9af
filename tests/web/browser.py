"""A real browser (Debian's chromium and chromium-driver), driven by W3C WebDriver calls and nothing else.

Environment: LANISTA_BROWSER: chromium (default: the one in PATH).
"""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

# Seconds; an upper bound for anything that is awaited: a slow machine, as one beside a build, only makes the test slow.
PATIENCE = 240
# A promise: what the reader did is drawn, as far as the page has it. It draws in a task behind that, and charts when a
# frame has told them their size. What a view loads, and events, which wait for their time (notices.js), are not awaited.
DRAWN = "new Promise((resolve) => setTimeout(() => requestAnimationFrame(() => setTimeout(resolve))))"


def find_browser():
    """The paths of the browser and its driver; None: not installed."""
    browser = os.environ.get("LANISTA_BROWSER") or shutil.which("chromium")
    return browser, shutil.which("chromedriver")


def start_driver(driver):
    """The driver's process, and the port on which it listens."""
    said = []
    # It looks for a free port, and ends where another program has taken that meanwhile.
    for _ in range(5):
        process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in process.stdout:
            if "started successfully on port" in line:
                return process, line.rstrip(".\n").rsplit(" ", 1)[1]
            said.append(line)
        process.wait()
    raise RuntimeError("chromedriver did not start: " + "".join(said))


class Browser:
    """One browser with one session."""

    def __init__(self, logs_requests=True):
        """Without logs_requests the log "performance" stays empty, and costs nothing."""
        browser, driver = find_browser()
        self.profile = tempfile.mkdtemp(prefix="lanista-browser-")
        self.driver, port = start_driver(driver)
        self.drain = threading.Thread(target=self.driver.stdout.read, daemon=True)
        self.drain.start()
        self.base = "http://127.0.0.1:" + port
        options = {
            "binary": browser,
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                     "--no-first-run", "--window-size=1400,900", "--user-data-dir=" + self.profile],
        }
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL" if logs_requests else "OFF"}}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = "/session/" + session["sessionId"]

    def close(self):
        try:
            self.do("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.drain.join()
            self.driver.stdout.close()
            shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, method=method, data=data,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=2 * PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError("%s %s: %s" % (method, path, json.load(error)["value"]["message"])) from None

    def do(self, method, path, body=None):
        return self.call(method, self.session + path, body)

    def go(self, url):
        self.do("POST", "/url", {"url": url})

    def follow(self, address):
        """Goes where an address of the page points, "#" and what is behind it, and returns when the page has drawn what it
        has of that; the view may still load more."""
        self.run("""
            return new Promise((resolve) => {
              const before = location.href;
              location.hash = arguments[0];
              if (location.href === before) return resolve();
              addEventListener('hashchange', resolve, {once: true});
            }).then(() => %s);""" % DRAWN, address)

    def run(self, script, *arguments):
        return self.do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command, parameters):
        return self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def wait(self, script, *arguments, over=lambda: False):
        """Waits until the script returns something true, and returns that; in vain once `over` returns true."""
        end = time.monotonic() + PATIENCE
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > end or over():
                raise AssertionError("waited in vain for: %s %s\nThe page shows: %s" % (
                    script, arguments, self.run("return document.body.innerText.slice(0, 1500)")))
            time.sleep(0.05)

    def keys(self, text, hold=""):
        actions = [{"type": "keyDown", "value": key} for key in hold]
        for key in text:
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        actions += [{"type": "keyUp", "value": key} for key in hold]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def drag(self, x0, y0, x1, y1):
        def move(x, y):
            return {"type": "pointerMove", "duration": 50, "x": int(x), "y": int(y), "origin": "viewport"}

        steps = [move(x0, y0), {"type": "pointerDown", "button": 0}, move((x0 + x1) / 2, (y0 + y1) / 2), move(x1, y1),
                 {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}
        self.do("POST", "/actions", {"actions": [mouse]})

    def click(self, selector, text=None):
        """Clicks the first element of the selector (with this text, where there is one)."""
        script = ("const [selector, text] = arguments; const found = [...document.querySelectorAll(selector)].find("
                  "(e) => (text === null || e.textContent.trim() === text) && e.offsetParent !== null); "
                  "found?.click(); return !!found;")
        self.wait(script, selector, text)

    def log(self, kind):
        return self.do("POST", "/se/log", {"type": kind})

    def complaints(self, origin, expected=None):
        """What no page may do, since the last call: errors and warnings on the console, reports of the content security
        policy among them, and requests to other origins. Messages in which `expected` is found are the browser's own."""
        found = [entry["message"] for entry in self.log("browser") if entry["level"] in ("SEVERE", "WARNING")
                 and not (expected and expected.search(entry["message"]))]
        for entry in self.log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] != "Network.requestWillBeSent":
                continue
            url = message["params"]["request"]["url"]
            if not url.startswith((origin, "blob:" + origin, "data:", "about:", "chrome:")):
                found.append("asked for " + url)
        return found

    def saved_by(self, selector, text):
        """What a button saves, as text."""
        self.devtools("Page.setDownloadBehavior", {"behavior": "deny"})
        self.run("""
            const make = URL.createObjectURL;
            window.saved = null;
            URL.createObjectURL = (blob) => {
              blob.text().then((text) => { window.saved = text; });
              return make.call(URL, blob);
            };""")
        self.click(selector, text)
        return self.wait("return window.saved")
