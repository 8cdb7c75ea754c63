"""Firefox with the browser page: one browser a namespace, one window a peer, driven by WebDriver BiDi.

Playwright drives a Firefox of its own only; this is the one that people have. Firefox listens inside the namespace and
`Namespace.connect` reaches it there.
"""

import json
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from peers.page_peer import NOTE_CREDENTIALS, PagePeer
from support.bidi import Session
from support.process import JSONProcess
from support.waiting import PATIENCE, wait_until

PREFERENCES = {
    # Sound without a gesture on the page, and without a device, of which Firefox's `AudioContext` wants one.
    "media.autoplay.default": 0,
    "media.autoplay.blocking_policy": 0,
    "media.cubeb.force_mock_context": True,
    # Candidates show addresses and not names that only multicast DNS could resolve.
    "media.peerconnection.ice.obfuscate_host_addresses": False,
}
HIDING_ADDRESSES = {**PREFERENCES, "media.peerconnection.ice.obfuscate_host_addresses": True}
"""As it is for a page without permission for a camera."""
LISTENING = re.compile(r"WebDriver BiDi listening on ws://([\d.]+):(\d+)")


def find_firefox():
    found = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if not found:
        raise RuntimeError("Firefox is missing: install the package firefox-esr, or name it in $FIREFOX")
    return found


class Firefox:
    """Firefox inside a namespace."""

    def __init__(self, namespace, preferences=PREFERENCES):
        self.folder = Path(tempfile.mkdtemp(prefix="roost-firefox-"))
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items())
        (self.folder / "user.js").write_text("".join(lines))
        command = [find_firefox(), "--headless", "--no-remote", "--profile", self.folder, "--remote-debugging-port", 0]
        # It takes the home of somebody else, as root may have it, for a mistake.
        environment = {**os.environ, "HOME": str(self.folder)}
        self.process = JSONProcess("Firefox", namespace.command(*command), env=environment)
        self.pages = {}
        try:
            wait_until(lambda: self._address(), "Firefox listens")
            self.session = Session(namespace.connect(*self._address()), self._heard)
            self.session.command("session.subscribe", events=["log.entryAdded"])
        except Exception as error:
            error.add_note(self.process.transcript())
            self._end()
            raise

    @property
    def version(self):
        return self.session.capabilities["browserVersion"]

    def _address(self):
        found = next(filter(None, map(LISTENING.search, self.process.text)), None)
        return found and (found[1], int(found[2]))

    def _heard(self, method, entry):
        page = self.pages.get(entry["source"].get("context"))
        if method == "log.entryAdded" and page:
            page.lines.append(f"{entry['level']}: {entry['text']}")

    def new_page(self):
        """A page with storage of its own; its console is kept for the report of a failed test."""
        page = Page(self.session)
        self.pages[page.id] = page
        return page

    def close(self):
        self.session.close()
        self._end()

    def _end(self):
        self.process.finish()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    """A window. What peers ask of it has Playwright's names."""

    def __init__(self, session):
        self.lines, self._session = [], session
        self._user = session.command("browser.createUserContext")["userContext"]
        # A window and not a tab: tabs behind another one draw nothing.
        self.id = session.command("browsingContext.create", type="window", userContext=self._user)["context"]
        preload = f"() => {{ {NOTE_CREDENTIALS} }}"
        session.command("script.addPreloadScript", functionDeclaration=preload, contexts=[self.id])

    @property
    def context(self):
        """What is closed with all that the page has stored: it is the only one there."""
        return self

    def goto(self, url):
        self._session.command("browsingContext.navigate", context=self.id, url=url, wait="complete")

    def evaluate(self, expression, arg=None):
        """The expression's value, or what it returns when it is a function of `arg`; as JSON, both ways."""
        call = f"""async (given) => {{
          const made = ({expression});
          const value = typeof made === 'function' ? await made(JSON.parse(given)) : await made;
          return JSON.stringify(value) ?? 'null';
        }}"""
        answer = self._session.command(
            "script.callFunction", functionDeclaration=call, awaitPromise=True, target={"context": self.id},
            arguments=[{"type": "string", "value": json.dumps(arg)}],
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def wait_for_function(self, expression, arg=None, timeout=1000 * PATIENCE, polling=100):
        deadline = time.monotonic() + timeout / 1000
        while not self.evaluate(expression, arg):
            assert time.monotonic() < deadline, f"not in {timeout} ms: {expression}"
            time.sleep(polling / 1000)

    def inner_text(self, selector):
        return self.evaluate("(selector) => document.querySelector(selector).innerText", selector)

    def is_closed(self):
        return self._user is None

    def close(self):
        self._session.command("browser.removeUserContext", userContext=self._user)
        self._user = None


class FirefoxPeer(PagePeer):
    kind = "Firefox"
    # When ICE restarts it makes its receiver anew. That one may ask, by NACK, for the packets that the one before heard.
    returns = 1
