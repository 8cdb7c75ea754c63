"""libdatachannel by lines of JSON, as Examples/data-channel-chat speaks them with `--json`; media besides.

    {"action": "addMedia", "kind": "video", "codec": "VP8"}       before an offer; an answer takes all that is offered
    {"action": "frame", "kind": "video", "timestamp": …, "base64": …}
    {"action": "take", "kind": "video", "codec": "VP8"}           which of the codecs of an offer to answer with

Frames that come are told as {"event": "frame", "kind": …, "base64": …}. H.264 and Opus go through libdatachannel's
packetizers; it has none for VP8, whose packets are made and read here.

Run by a Python of its own, for its binding has no wheels for older ones: see Scripts/libdatachannel-environment.sh.
"""

import base64
import datetime
import json
import os
import random
import struct
import sys
import threading

import libdatachannel as rtc

PATIENCE = 90
CODECS = {"audio": "opus", "video": "H264"}
PAYLOAD_TYPES = {"opus": 111, "H264": 102, "VP8": 96}
LARGEST = 1100
"""Bytes of a picture in one packet."""

channels, tracks, wanted = {}, {}, dict(CODECS)
gathered, changed, speaking = threading.Event(), threading.Condition(), threading.Lock()


def say(**line):
    with speaking:
        print(json.dumps({name: value for name, value in line.items() if value is not None}), flush=True)


# --- Data


def heard(label, message):
    if isinstance(message, str):
        say(event="message", label=label, text=message)
    else:
        say(event="message", label=label, base64=base64.b64encode(message).decode())


def adopt(channel, is_theirs):
    label = channel.label()
    channels[label] = channel
    if is_theirs:
        reliability = channel.reliability()
        lifetime = reliability.max_packet_lifetime
        say(event="channel", label=label, ordered=not reliability.unordered, protocol=channel.protocol(),
            maxRetransmits=reliability.max_retransmits,
            maxPacketLifeTime=None if lifetime is None else round(lifetime.total_seconds() * 1000))
    channel.on_message(lambda message: heard(label, message))
    channel.on_open(lambda: say(event="open", label=label))
    channel.on_closed(lambda: say(event="close", label=label))
    if channel.is_open():
        say(event="open", label=label)


def create(connection, order):
    options = rtc.DataChannelInit()
    reliability = rtc.Reliability()
    reliability.unordered = not order.get("ordered", True)
    reliability.max_retransmits = order.get("maxRetransmits")
    if "maxPacketLifeTime" in order:
        reliability.max_packet_lifetime = datetime.timedelta(milliseconds=order["maxPacketLifeTime"])
    options.reliability = reliability
    options.protocol = order.get("protocol", "")
    options.negotiated = order.get("negotiated", False)
    options.id = order.get("id")
    adopt(connection.create_data_channel(order["label"], options), is_theirs=False)


# --- Media


class Track:
    """One section of the description, in both directions."""

    def __init__(self, kind, codec, track, media):
        self.track, self.codec = track, codec
        self.payload_type = next(number for number in media.payload_types() if is_codec(media, number, codec))
        rate = 48_000 if kind == "audio" else 90_000
        self.ssrc = media.get_ssrcs()[0]
        self.sequence, self.pieces = random.getrandbits(16), []
        sending = rtc.RtpPacketizationConfig(self.ssrc, "libdatachannel", self.payload_type, rate)
        # What leaves passes the chain from its beginning, what comes from its end.
        chain = [rtc.RtcpSrReporter(sending), rtc.RtcpReceivingSession(), rtc.RtcpNackResponder()]
        match codec:
            case "opus":
                chain[:0] = [rtc.OpusRtpPacketizer(sending), rtc.OpusRtpDepacketizer()]
            case "H264":
                separator = rtc.NalUnit.Separator.StartSequence
                chain[:0] = [rtc.H264RtpPacketizer(separator, sending), rtc.H264RtpDepacketizer(separator)]
        for handler in chain[1:]:
            chain[0].add_to_chain(handler)
        track.set_media_handler(chain[0])
        # The handlers belong to the library; that their Python halves live on is for us to see to.
        self.chain = chain
        if codec == "VP8":
            track.on_message(lambda packet: self.packet_came(kind, bytes(packet)))
        else:
            track.on_frame(lambda data, _: say_frame(kind, data))
        track.on_open(lambda: say(event="trackOpen", kind=kind))

    def send(self, timestamp, data):
        if not self.track.is_open():
            return
        if self.codec != "VP8":
            self.track.send_frame(data, rtc.FrameInfo(timestamp))
            return
        # RFC 7741 §4.2: of the shortest descriptor, only S, with the first packet of a picture.
        for start in range(0, len(data), LARGEST):
            marker = 0x80 if start + LARGEST >= len(data) else 0
            header = struct.pack(
                "!BBHII", 0x80, marker | self.payload_type, self.sequence, timestamp & 0xFFFFFFFF, self.ssrc)
            self.track.send(header + (b"\x10" if start == 0 else b"\0") + data[start : start + LARGEST])
            self.sequence = self.sequence + 1 & 0xFFFF

    def packet_came(self, kind, packet):
        payload = memoryview(packet)[12 + 4 * (packet[0] & 15) :]
        if packet[0] & 0x10:
            payload = payload[4 + 4 * int.from_bytes(payload[2:4]) :]
        if packet[0] & 0x20:
            payload = payload[: -payload[-1]]
        if packet[1] & 0x7F != self.payload_type or len(payload) == 0:
            return
        begins, extended, length = payload[0] & 0x1F == 0x10, payload[0] & 0x80, 1
        if extended:
            flags, length = payload[1], 2
            if flags & 0x80:
                length += 2 if payload[length] & 0x80 else 1
            length += bool(flags & 0x40) + bool(flags & 0x30)
        if begins:
            self.pieces = []
        self.pieces.append(payload[length:])
        if packet[1] & 0x80:
            say_frame(kind, b"".join(self.pieces))


def say_frame(kind, data):
    say(event="frame", kind=kind, base64=base64.b64encode(data).decode())


def is_codec(media, payload_type, codec):
    """H.264 as browsers begin with it: constrained baseline, in fragments."""
    coding = media.rtp_map(payload_type)
    if coding.format.lower() != codec.lower():
        return False
    parameters = ";".join(coding.fmtps)
    return codec != "H264" or "packetization-mode=1" in parameters and "profile-level-id=42" in parameters


def announce(media, kind):
    media.set_direction(rtc.Description.Direction.SendRecv)
    media.add_ssrc(random.getrandbits(32), "libdatachannel", "stream", kind)


def add_media(connection, kind, codec):
    direction = rtc.Description.Direction.SendRecv
    if kind == "audio":
        media = rtc.Description.Audio("audio", direction)
        media.add_opus_codec(PAYLOAD_TYPES["opus"])
    else:
        media = rtc.Description.Video("video", direction)
        (media.add_h264_codec if codec == "H264" else media.add_vp8_codec)(PAYLOAD_TYPES[codec])
    announce(media, kind)
    tracks[kind] = Track(kind, codec, connection.add_track(media), media)


def take_track(track):
    """A section of the peer's offer: answered with one codec, and sent in too."""
    media = track.description()
    kind = media.type()
    codec = wanted[kind]
    chosen = [number for number in media.payload_types() if is_codec(media, number, codec)][:1]
    for number in media.payload_types():
        if number not in chosen:
            media.remove_rtp_map(number)
    announce(media, kind)
    track.set_description(media)
    with changed:
        tracks[kind] = Track(kind, codec, track, media)
        changed.notify_all()


# --- Descriptions


def describe(connection, kind):
    connection.set_local_description(rtc.Description.Type.Offer if kind == "offer" else rtc.Description.Type.Answer)
    if not gathered.wait(PATIENCE):
        sys.exit("libdatachannel gathers for ever")
    say(type=kind, sdp=str(connection.local_description()))


def hear(connection, kind, sdp):
    connection.set_remote_description(rtc.Description(sdp, kind))
    if kind == "offer":
        # Tracks are told from another thread; an answer without them would refuse their codecs.
        offered = {line.split()[0][2:] for line in sdp.splitlines() if line.startswith(("m=audio", "m=video"))}
        with changed:
            if not changed.wait_for(lambda: offered <= set(tracks), PATIENCE):
                sys.exit("libdatachannel does not tell the tracks of an offer")
        describe(connection, "answer")


def obey(connection, order):
    if "sdp" in order:
        return hear(connection, order["type"], order["sdp"])
    match order["action"]:
        case "create":
            create(connection, order)
        case "addAudio":
            add_media(connection, "audio", CODECS["audio"])
        case "addMedia":
            add_media(connection, order["kind"], order["codec"])
        case "take":
            wanted[order["kind"]] = order["codec"]
        case "candidate":
            connection.add_remote_candidate(rtc.Candidate(order["candidate"], order["mid"]))
        case "offer":
            describe(connection, "offer")
        case "frame":
            tracks[order["kind"]].send(order["timestamp"], base64.b64decode(order["base64"]))
        case "send":
            channels[order["label"]].send(order["text"] if "text" in order else base64.b64decode(order["base64"]))
        case "close":
            channels[order["label"]].close()
        case "quit":
            connection.close()
            # What its threads still want to tell need not be waited for.
            os._exit(0)


def main():
    configuration = rtc.Configuration()
    configuration.ice_servers = []
    # By itself it would offer as soon as there is a channel, and answer before its tracks are known.
    configuration.disable_auto_negotiation = True
    connection = rtc.PeerConnection(configuration)
    connection.on_data_channel(lambda channel: adopt(channel, is_theirs=True))
    connection.on_track(take_track)
    connection.on_state_change(lambda state: say(event="state", state=state.name.lower()))
    connection.on_gathering_state_change(
        lambda state: gathered.set() if state == rtc.PeerConnection.GatheringState.Complete else None
    )
    for line in sys.stdin:
        obey(connection, json.loads(line))
    os._exit(0)


main()
