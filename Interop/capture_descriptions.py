#!/usr/bin/env python3
"""Writes the offers and answers of Tests/Vectors/sdp that browsers make, as the browsers of this machine make them.

.venv/bin/python Interop/capture_descriptions.py firefox     # or chromium; --output FOLDER leaves the repository alone

Those of them that are in Fuzz/Corpus/SDP are written there too.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from peers.chromium import ARGUMENTS, Browser, ChromiumPeer
from peers.firefox import HIDING_ADDRESSES, Firefox, FirefoxPeer
from peers.roost_peer import RoostPeer, start_server
from support.evidence import REPOSITORY
from support.namespace import Namespace

VECTORS = REPOSITORY / "Tests" / "Vectors" / "sdp"
CORPUS = REPOSITORY / "Fuzz" / "Corpus" / "SDP"

# One function body an offer; what it returns is written.
OFFERS = {
    "audio_video_offer": """
        const connection = connect();
        for (const track of [sound(), picture()]) connection.addTrack(track, new MediaStream([track]));
        return (await connection.createOffer()).sdp;
    """,
    "gathered_offer": """
        const connection = connect();
        const tracks = [sound(), picture()];
        for (const track of tracks) connection.addTrack(track, new MediaStream(tracks));
        connection.addTransceiver('video', { direction: 'recvonly' });
        connection.createDataChannel('chat');
        await connection.setLocalDescription();
        while (connection.iceGatheringState !== 'complete') {
          await new Promise((changed) => { connection.onicegatheringstatechange = changed; });
        }
        return connection.localDescription.sdp;
    """,
    "max_bundle_simulcast_offer": """
        const connection = connect({ bundlePolicy: 'max-bundle' });
        connection.addTransceiver(sound());
        const layers = [{ rid: 'low', scaleResolutionDownBy: 2 }, { rid: 'full' }];
        connection.addTransceiver(picture(), { direction: 'sendonly', sendEncodings: layers });
        return (await connection.createOffer()).sdp;
    """,
}
TOOLS = """
    // Kept, or the browser ends what nobody can reach.
    const connect = (configuration) => globalThis.connection = new RTCPeerConnection(configuration);
    const picture = () => {
      const canvas = document.createElement('canvas');
      canvas.getContext('2d').fillRect(0, 0, 1, 1);
      return canvas.captureStream().getVideoTracks()[0];
    };
    const sound = () => new MediaStreamAudioDestinationNode(new AudioContext()).stream.getAudioTracks()[0];
"""


def capture_offers(browser):
    for name, body in OFFERS.items():
        page = browser.new_page()
        yield name, page.evaluate(f"async () => {{ {TOOLS} {body} }}")
        page.context.close()


def capture_call(browser, peer, namespace):
    """What the page answers `roost call`."""
    process, port = start_server(namespace)
    server = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        page = peer(browser, server, 1, "Bob", "callee")
        page.wait_joined()
        caller = RoostPeer(namespace, server, 1, "Ann", "caller", Path(folder))
        try:
            page.wait_connected()
            page.wait_true("roost.call.connection.iceGatheringState === 'complete'")
            yield "call_answer", page.page.evaluate("roost.call.connection.localDescription.sdp")
        finally:
            page.close()
            caller.close()
            process.finish()


def main():
    parser = argparse.ArgumentParser(description="Writes the browsers' session descriptions anew.")
    parser.add_argument("browser", choices=["firefox", "chromium"])
    parser.add_argument("--output", type=Path, help="a folder in the place of Tests/Vectors/sdp and Fuzz/Corpus/SDP")
    options = parser.parse_args()
    namespace = Namespace().add_interface()
    with sync_playwright() as playwright:
        if options.browser == "firefox":
            browser, peer = Firefox(namespace, HIDING_ADDRESSES), FirefoxPeer
        else:
            arguments = [argument for argument in ARGUMENTS if "Mdns" not in argument]
            browser, peer = Browser(playwright, namespace, arguments), ChromiumPeer
        for capture in (capture_offers(browser), capture_call(browser, peer, namespace)):
            for name, text in capture:
                write(f"{options.browser}_{name}.sdp", text, options.output)
        print(f"{options.browser} {browser.version}", file=sys.stderr)
        browser.close()
    namespace.close()


def write(name, text, output):
    folders = [output] if output else [VECTORS] + ([CORPUS] if (CORPUS / name).exists() else [])
    for folder in folders:
        (folder / name).write_bytes(text.encode())
        print(folder / name)


if __name__ == "__main__":
    main()
