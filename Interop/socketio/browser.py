"""The official JavaScript client in Chromium against our server: browser.py ORIGIN, or browser.py client

With `client`, prints where the client lies: among the static files of the installed package nicegui. The server under
test serves it as /client.js, and page.html as /.
"""

import pathlib
import sys

import nicegui
from playwright.sync_api import sync_playwright

STEPS = [
    "echo(['polling'])",
    "echo(['websocket'])",
    "echo(['polling', 'websocket'])",
    "namespaces()",
    "rooms()",
    "reconnect()",
]

if sys.argv[1] == "client":
    print(pathlib.Path(nicegui.__file__).with_name("static") / "socket.io.min.js")
    sys.exit(0)


def watch(socket):
    print("websocket", socket.url, file=sys.stderr)
    socket.on("framesent", lambda frame: print(">", frame, file=sys.stderr))
    socket.on("framereceived", lambda frame: print("<", frame, file=sys.stderr))
    socket.on("socketerror", lambda error: print("error", error, file=sys.stderr))
    socket.on("close", lambda _: print("closed", file=sys.stderr))


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"], timeout=90_000)
    page = browser.new_page()
    page.set_default_timeout(90_000)
    # Seen only when something goes wrong.
    page.on("console", lambda message: print(message.text, file=sys.stderr))
    page.on("websocket", lambda socket: watch(socket))
    page.goto(sys.argv[1] + "/")
    for step in STEPS:
        limit = "new Promise((_, fail) => setTimeout(() => fail('slow'), 60000))"
        print(step, page.evaluate(f"Promise.race([{step}, {limit}])"), flush=True)
    browser.close()
print("done", flush=True)
