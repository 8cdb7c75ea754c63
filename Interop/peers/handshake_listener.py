"""Hears the DTLS handshakes of a namespace and tells which SRTP profile was agreed on: neither peer has to be believed.

Run as a program inside, it prints the profile of each ServerHello, which is not encrypted (RFC 5764 §4.1.1).
"""

import json
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.process import JSONProcess  # noqa: E402

EVERY_PROTOCOL = 3  # ETH_P_ALL
UDP, HANDSHAKE, SERVER_HELLO, USE_SRTP = 17, 22, 2, 14
# RFC 5764 §4.1.2, RFC 7714 §14.2
PROFILES = {1: "SRTP_AES128_CM_HMAC_SHA1_80", 2: "SRTP_AES128_CM_HMAC_SHA1_32", 7: "SRTP_AEAD_AES_128_GCM",
            8: "SRTP_AEAD_AES_256_GCM"}


class HandshakeListener:
    def __init__(self, namespace):
        self.process = JSONProcess("handshakes", namespace.command(sys.executable, __file__))
        self.process.wait_for("listening")

    def profiles(self):
        """What was agreed on since we listen."""
        self.process.wait_for("srtp")
        return {line["profile"] for line in list(self.process.events) if line["event"] == "srtp"}

    def close(self):
        self.process.finish()


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def udp_payload(packet):
    """Of an IPv4 packet; None for any other."""
    header = 4 * (packet[0] & 15)
    return packet[header + 8 :] if packet[0] >> 4 == 4 and packet[9] == UDP else None


def agreed_profile(datagram):
    """The profile that a ServerHello in front of this datagram chooses; None when there is none."""
    # A record's header of 13 bytes, a handshake message's of 12 (RFC 6347 §4.1, §4.2.2).
    if len(datagram) < 60 or datagram[0] != HANDSHAKE or datagram[13] != SERVER_HELLO:
        return None
    body = datagram[25 : 25 + int.from_bytes(datagram[14:17], "big")]
    # Version and random, session id, cipher suite and compression (RFC 5246 §7.4.1.3).
    place = 34 + 1 + body[34] + 3 + 2
    while place + 4 <= len(body):
        kind, length = struct.unpack_from("!HH", body, place)
        if kind == USE_SRTP:
            return struct.unpack_from("!H", body, place + 6)[0]
        place += 4 + length
    return None


def main():
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERY_PROTOCOL)) as listener:
        say("listening")
        while True:
            if (datagram := udp_payload(listener.recv(65536))) and (profile := agreed_profile(datagram)):
                say("srtp", profile=PROFILES.get(profile, profile))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
