"""Hears the datagrams of a namespace and tells what two peers agreed on, so that neither has to be believed.

Run as a program inside, it prints the SRTP profile of each DTLS ServerHello (RFC 5764 §4.1.1), and the ICE user name of
each pair that was nominated, once the check that nominates it is answered (RFC 8445 §7.3.1.5). Both are not encrypted.
"""

import json
import signal
import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.process import JSONProcess  # noqa: E402

EVERY_PROTOCOL = 3  # ETH_P_ALL
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 263, 15, 23, 33
# virtio's header before each packet: flags, gso_type, hdr_len, gso_size, csum_start, csum_offset; then Ethernet's.
OFFLOAD, ETHERNET, UDP_SEGMENTS = struct.Struct("=BBHHHH"), 14, 5
UDP, HANDSHAKE, SERVER_HELLO, USE_SRTP = 17, 22, 2, 14
# RFC 5764 §4.1.2, RFC 7714 §14.2
PROFILES = {1: "SRTP_AES128_CM_HMAC_SHA1_80", 2: "SRTP_AES128_CM_HMAC_SHA1_32", 7: "SRTP_AEAD_AES_128_GCM",
            8: "SRTP_AEAD_AES_256_GCM"}
# RFC 8489 §5, §18; RFC 8445 §16.1
REQUEST, SUCCESS, COOKIE, USERNAME, USE_CANDIDATE = 0x0001, 0x0101, 0x2112A442, 0x0006, 0x0025


class WireListener:
    def __init__(self, namespace):
        self.process = JSONProcess("the wire", namespace.command(sys.executable, __file__))
        self.process.wait_for("listening")

    def profiles(self):
        """What was agreed on since we listen."""
        self.process.wait_for("srtp")
        return {line["profile"] for line in list(self.process.events) if line["event"] == "srtp"}

    def wait_nominated(self, controlling, controlled):
        """Until a pair is nominated with these credentials. A check names its receiver first."""
        self.process.wait_for("nominated", username=f"{controlled}:{controlling}")

    def close(self):
        self.process.finish()


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def datagrams(frame):
    """What an IPv4 packet of UDP carries, nothing of any other: several datagrams where their sender has left it to the
    system to take them apart (UDP_SEGMENT), for on their way they are one packet."""
    _, kind, _, size, _, _ = OFFLOAD.unpack_from(frame)
    packet = frame[OFFLOAD.size + ETHERNET :]
    if len(packet) < 28 or packet[0] >> 4 != 4 or packet[9] != UDP:
        return []
    payload = packet[4 * (packet[0] & 15) + 8 :]
    step = size if kind == UDP_SEGMENTS and size else max(len(payload), 1)
    return [payload[place : place + step] for place in range(0, len(payload), step)]


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


def attributes(message):
    """Of a STUN message, by their types."""
    found, place = {}, 20
    while place + 4 <= len(message):
        kind, length = struct.unpack_from("!HH", message, place)
        found.setdefault(kind, message[place + 4 : place + 4 + length])
        place += 4 + (length + 3) // 4 * 4
    return found


class Nominations:
    """Checks with USE-CANDIDATE that wait for their answers, by their transactions."""

    def __init__(self):
        self.asked = {}

    def answered(self, datagram):
        """The user name of the nominating check that this datagram answers; None when it answers none."""
        if len(datagram) < 20 or struct.unpack_from("!I", datagram, 4)[0] != COOKIE:
            return None
        kind, transaction = struct.unpack_from("!H", datagram)[0], datagram[8:20]
        if kind == REQUEST and USE_CANDIDATE in (found := attributes(datagram)):
            self.asked[transaction] = found[USERNAME].decode()
        return self.asked.pop(transaction, None) if kind == SUCCESS else None


def main():
    # A shell that starts a job in the background has its children ignore it, and then Python would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nominations = Nominations()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL)) as listener:
        listener.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        # On loopback each packet would come twice; and while other processes have the cores, calls go on.
        listener.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        say("listening")
        while True:
            for datagram in datagrams(listener.recv(1 << 17)):
                if profile := agreed_profile(datagram):
                    say("srtp", profile=PROFILES.get(profile, profile))
                elif username := nominations.answered(datagram):
                    say("nominated", username=username)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
