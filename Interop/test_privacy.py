"""Nothing that is printed or logged names an address, an ICE credential or a key: what the programs say in a call at their
most talkative is held against the descriptions and candidates that somebody in the same room heard."""

import re

import socketio

from support.command import media_flows
from support.waiting import wait_until

# A time of day has two colons; an IPv6 address has three at least, or two beside each other.
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{1,4}:){3}|[0-9a-f]{1,4}::", re.IGNORECASE)


def secrets_of(signal):
    """What an offer, an answer or a candidate tells that no log may."""
    text = signal.get("sdp") or signal.get("candidate") or ""
    for name in ("ice-ufrag", "ice-pwd", "fingerprint"):
        for value in re.findall(rf"a={name}:(.+)", text):
            yield value.split()[-1]
    for address, port in re.findall(r"candidate:\S+ \d+ \S+ \d+ (\S+) (\d+)", text):
        yield f"{address}:{port}"
        yield f"{address} {port}"


class Listener:
    """Somebody in the room who hears all signals."""

    def __init__(self, server, room):
        self.secrets = set()
        self.kinds = set()
        self.client = socketio.Client(reconnection=False)
        for kind in ("offer", "answer", "candidate"):
            self.client.on(kind, lambda signal, kind=kind: self._heard(kind, signal))
        self.client.connect(f"{server.url}?roomId={room}&username=Eve&isCaller=true", transports=["websocket"])

    def _heard(self, kind, signal):
        self.kinds.add(kind)
        if isinstance(signal, dict):
            self.secrets.update(secrets_of(signal))


def test_no_log_line_of_a_call_tells_an_address_or_a_secret(roost):
    server = roost.serve("--log-level", "debug")
    eve = Listener(server, 7)
    try:
        ann, bob = roost.pair(server, 7)
        media_flows(ann, bob)
        wait_until(lambda: {"offer", "answer"} <= eve.kinds, "Eve hears the call being made")
        ann.interrupt()
        assert ann.wait() == 0 and bob.wait() == 0
    finally:
        eve.client.disconnect()
    server.interrupt()
    assert server.wait() == 0

    # What was heard is worth looking for: two credentials, two certificates, an address of each at least.
    assert len(eve.secrets) >= 8, eve.secrets
    for process in (server, ann, bob):
        lines = [str(event) for event in process.events] + process.text
        assert lines, process.name
        for line in lines:
            for secret in eve.secrets:
                assert secret not in line, (process.name, line)
            # Whoever started the program gave it the server's own address.
            told = ADDRESS.findall(line.replace(server.url, ""))
            assert not told, (process.name, line)
