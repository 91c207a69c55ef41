"""A headless Chromium, driven over its DevTools protocol with nothing but the standard library.

    with Browser() as browser:
        page = browser.open(path, width=390, scheme="dark")
        page.evaluate("document.title")
"""
import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class WebSocket:
    """As much of RFC 6455 as a client on loopback needs: text frames, masked on the way out."""

    def __init__(self, url):
        address, path = url.removeprefix("ws://").split("/", 1)
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(4096)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.splitlines()[0], head

    def take(self, count):
        while len(self.buffer) < count:
            part = self.socket.recv(1 << 16)
            if not part:
                raise ConnectionError("the browser has gone")
            self.buffer += part
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, text):
        payload, mask = text.encode(), os.urandom(4)
        size = len(payload)
        head = b"\x81" + (bytes([0x80 | size]) if size < 126 else
                          b"\xfe" + struct.pack(">H", size) if size < 65536 else
                          b"\xff" + struct.pack(">Q", size))
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def receive(self):
        whole = b""
        while True:
            first, size = self.take(2)
            size &= 0x7F
            if size == 126:
                size = struct.unpack(">H", self.take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self.take(8))[0]
            payload = self.take(size)
            if first & 0x0F in (0, 1):
                whole += payload
                if first & 0x80:
                    return whole.decode()


class Page:
    def __init__(self, url):
        self.socket = WebSocket(url)
        self.number = 0
        self.events = []

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        while not any(event["method"] == method for event in self.events):
            self.events.append(json.loads(self.socket.receive()))

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """What stands in the console."""
        return [event["params"] for event in self.events
                if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                       "Log.entryAdded")]

    def screenshot(self, path, whole=True):
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(answer["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


class Browser:
    def __enter__(self):
        self.pages = []
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--hide-scrollbars", "--remote-debugging-port=0", "--remote-allow-origins=*",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             f"--user-data-dir={self.folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = pathlib.Path(self.folder.name) / "DevToolsActivePort"
        deadline = time.monotonic() + 60
        while not (told.exists() and "\n" in told.read_text()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the browser does not start")
            time.sleep(0.05)
        self.port = int(told.read_text().split()[0])
        return self

    def __exit__(self, *_):
        for page in self.pages:
            page.socket.socket.close()
        self.process.terminate()
        self.process.wait(timeout=30)
        self.folder.cleanup()

    def open(self, path, width=1280, height=900, scheme="light", media="screen"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank",
                                         method="PUT")
        with urllib.request.urlopen(request, timeout=60) as answer:
            page = Page(json.load(answer)["webSocketDebuggerUrl"])
        self.pages.append(page)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        page.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.events.clear()
        page.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        page.wait_for("Page.loadEventFired")
        return page
