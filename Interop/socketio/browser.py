"""The official JavaScript client in Chromium against our server: browser.py ORIGIN

The client is taken from the installed package nicegui; the page is page.html. Both are put in front of our server's
origin, so that everything else the page asks for is answered by our server.
"""

import pathlib
import sys

import nicegui
from playwright.sync_api import sync_playwright

ORIGIN = sys.argv[1]
PAGE = pathlib.Path(__file__).with_name("page.html").read_text()
CLIENT = pathlib.Path(nicegui.__file__).with_name("static") / "socket.io.min.js"
STEPS = [
    "echo(['polling'])",
    "echo(['websocket'])",
    "echo(['polling', 'websocket'])",
    "namespaces()",
    "rooms()",
    "reconnect()",
]

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    page = browser.new_page()
    page.route(ORIGIN + "/", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
    page.route(ORIGIN + "/client.js", lambda route: route.fulfill(path=CLIENT, content_type="text/javascript"))
    page.goto(ORIGIN + "/")
    print(page.evaluate("io.protocol"), flush=True)
    for step in STEPS:
        print(step, page.evaluate(f"Promise.race([{step}, new Promise((_, no) => setTimeout(() => no('slow'), 20000))])"), flush=True)
    browser.close()
print("done", flush=True)
