"""Chromium with the browser page: one browser a namespace, one page a peer, driven by Playwright.

The browser runs inside the namespace, by a wrapper script in place of its executable; Playwright talks to it over a
pipe.
"""

import os
import shlex
import shutil
import stat
import tempfile
from pathlib import Path

from peers.page_peer import NOTE_CREDENTIALS, PagePeer
from support.waiting import PATIENCE

ARGUMENTS = [
    "--no-sandbox",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
    # Candidates show addresses and not names that only multicast DNS could resolve. And the address bar does without pages of
    # its own for what it suggests: two for each window, which cost several times what ours do.
    "--disable-features=WebRtcHideLocalIpsWithMdns,WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
    # A name that is not localhost, so that browsers take its http pages for insecure.
    "--host-resolver-rules=MAP roost.test 127.0.0.1",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
]
WITHOUT_DEVICES = [argument for argument in ARGUMENTS if "fake" not in argument]


def find_chromium():
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        raise RuntimeError("Chromium is missing: install the package chromium, or name it in $CHROMIUM")
    return found


class Browser:
    """Chromium inside a namespace."""

    def __init__(self, playwright, namespace, arguments=ARGUMENTS):
        self.folder = Path(tempfile.mkdtemp(prefix="roost-chromium-"))
        wrapper = self.folder / "chromium"
        wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(namespace.command(find_chromium()))} "$@"\n')
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        self.browser = playwright.chromium.launch(executable_path=str(wrapper), args=arguments, timeout=1000 * PATIENCE)

    @property
    def version(self):
        return self.browser.version

    def new_page(self, **options):
        """A page with storage of its own; its console is kept for the report of a failed test."""
        page = self.browser.new_context(**options).new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.lines, page.sockets = [], []
        page.add_init_script(NOTE_CREDENTIALS)
        page.on("console", lambda message: page.lines.append(f"{message.type}: {message.text}"))
        page.on("websocket", lambda socket: page.sockets.append(socket.url))
        page.on("pageerror", lambda error: page.lines.append(f"error: {error}"))
        return page

    def close(self):
        self.browser.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class ChromiumPeer(PagePeer):
    kind = "Chromium"
