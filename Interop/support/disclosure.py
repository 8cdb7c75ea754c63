"""What a line of output or of a log may not tell: an address, an ICE credential, a certificate, a key, a token."""

import json
import re

# Whatever a call's values are, these are recognized by their shape.
SHAPES = {
    "an IPv4 address": re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"),
    # A time of day has two colons; an IPv6 address has three at least, or two beside each other.
    "an IPv6 address": re.compile(r"(?:\b[0-9a-f]{1,4}:){3}|\b[0-9a-f]{1,4}::|::[0-9a-f]{1,4}\b", re.IGNORECASE),
    "a multicast DNS name": re.compile(r"[0-9a-f-]{36}\.local", re.IGNORECASE),
    "an ICE credential": re.compile(r"\b(?:ice-)?(?:ufrag|pwd|password)[:= ]\s*[\w+/]{3,}(?<!is)", re.IGNORECASE),
    "a candidate": re.compile(r"\bcandidate:\S"),
    "a fingerprint": re.compile(r"(?:\b[0-9a-f]{2}:){8}", re.IGNORECASE),
    "a key in PEM": re.compile(r"-----BEGIN"),
    "a key for SDES": re.compile(r"\binline:\S"),
    "a key's bytes": re.compile(r"\b[0-9a-f]{32,}\b|\[\d{1,3}(?:, \d{1,3}){7,}", re.IGNORECASE),
    # RFC 7519 §3: the header's first two letters are `{"` in Base64.
    "a token": re.compile(r"\beyJ[\w-]+\.[\w-]+|\bBearer \S", re.IGNORECASE),
}


class Secrets:
    """The values of one call that no line may tell, and their kinds."""

    def __init__(self):
        self._values = {}

    def add(self, kind, value):
        self._values[value] = kind

    def add_signal(self, signal):
        """What an offer, an answer or a candidate tells."""
        text = signal.get("sdp") or signal.get("candidate") or ""
        for kind in ("ice-ufrag", "ice-pwd", "fingerprint"):
            for value in re.findall(rf"a={kind}:(.+)", text):
                self.add(kind, value.split()[-1])
        for address, port in re.findall(r"candidate:\S+ \d+ \S+ \d+ (\S+) (\d+)", text):
            self.add("candidate", f"{address}:{port}")
            self.add("candidate", f"{address} {port}")

    def kinds(self):
        return set(self._values.values())

    def told_by(self, line, known=()):
        """What this line tells that it may not. `known` is what whoever started the program typed, which an error may
        repeat."""
        for text in sorted(known, key=len, reverse=True):
            line = line.replace(text, "")
        by_value = [kind for value, kind in self._values.items() if contains(line, value)]
        return by_value + [kind for kind, shape in SHAPES.items() if shape.search(line)]

    def check(self, *processes, known=()):
        """Fails with the line of one of these processes that tells something, and with a process that said nothing."""
        for process in processes:
            lines = [json.dumps(event, ensure_ascii=False) for event in process.events] + process.text
            self.check_lines(process.name, lines, known)

    def check_lines(self, name, lines, known=()):
        assert lines, f"{name} said nothing"
        for line in lines:
            told = self.told_by(line, known)
            assert not told, f"{name} tells {', '.join(told)}: {line}"


def contains(line, value):
    """As a whole: four letters of a credential may be part of a word."""
    return re.search(rf"(?<![\w+/]){re.escape(value)}(?![\w+/])", line) is not None
