"""GStreamer's webrtcbin by lines of JSON, as Examples/data-channel-chat speaks them with `--json`; media besides.

    gstreamer_peer.py [VP8|H264|H265|RECEIVE|RECEIVE-H265]

With a codec, it sends a ball that flies, or snow, and a tone of 440 Hz. With RECEIVE it offers to be sent pictures, in VP8
or H.265, and sound.

What it decodes it tells: {"event": "picture", "count": …, "different": …} and for each half second
{"event": "tone", "hertz": …}, null for silence.
Run by the system's Python, to which Debian's GStreamer belongs.
"""

import base64
import json
import sys
import threading
import zlib

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402

# Small and cheap pictures: the machine has other things to do.
BALL = "videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=180,framerate=30/1 ! queue"
# Of which each picture takes several packets: its encoder makes much less of a ball.
SNOW = BALL.replace("pattern=ball", "pattern=snow")
SOUND = "audiotestsrc is-live=true wave=sine freq=440 ! queue ! opusenc ! rtpopuspay pt=111"
ENCODERS = {
    "VP8": "vp8enc deadline=1 cpu-used=16 target-bitrate=300000 keyframe-max-dist=60"
           " ! rtpvp8pay pt=96 picture-id-mode=2",
    "H264": "openh264enc complexity=low bitrate=300000 gop-size=60 ! video/x-h264,profile=constrained-baseline"
            " ! rtph264pay pt=96 config-interval=-1 aggregate-mode=zero-latency",
    "H265": "x265enc tune=zerolatency speed-preset=ultrafast bitrate=1000 key-int-max=60"
            # Otherwise its later key frames come without parameter sets.
            " option-string=repeat-headers=1:open-gop=0 ! video/x-h265,profile=main"
            " ! rtph265pay pt=96 config-interval=-1 aggregate-mode=zero-latency",
}
FORMATS = {"VP8": "", "H264": ",packetization-mode=(string)1,profile-level-id=(string)42e01f", "H265": ""}
BANDS, RATE = 1200, 48_000


def say(**line):
    with speaking:
        print(json.dumps(line), flush=True)


speaking = threading.Lock()


class Peer:
    def __init__(self, codec):
        self.pipeline = Gst.Pipeline()
        self.bin = Gst.ElementFactory.make("webrtcbin")
        self.bin.set_property("bundle-policy", GstWebRTC.WebRTCBundlePolicy.MAX_BUNDLE)
        self.pipeline.add(self.bin)
        self.channels, self.candidates = {}, []
        self.count, self.pictures = 0, set()
        self.kind = None
        self.bin.connect("on-data-channel", lambda _, channel: self.adopt(channel, is_theirs=True))
        self.bin.connect("pad-added", self.pad_added)
        self.bin.connect("on-ice-candidate", lambda _, line, candidate: self.candidates.append((line, candidate)))
        self.bin.connect("notify::ice-gathering-state", lambda *_: GLib.idle_add(self.describe))
        self.bin.connect("notify::connection-state", self.tell_state)
        self.bus = self.pipeline.get_bus()
        self.bus.add_signal_watch()
        self.bus.connect("message::error", lambda _, message: say(event="error", text=str(message.parse_error())))
        self.bus.connect("message::element", self.element_says)
        if codec and codec.startswith("RECEIVE"):
            wanted = codec.partition("-")[2] or "VP8"
            for caps in (f"media=video,encoding-name={wanted},clock-rate=90000,payload=96",
                         "media=audio,encoding-name=OPUS,clock-rate=48000,encoding-params=(string)2,payload=111"):
                self.bin.emit("add-transceiver", GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY,
                              Gst.Caps.from_string(f"application/x-rtp,{caps}"))
        elif codec:
            picture = SNOW if codec == "H265" else BALL
            self.send(f"{picture} ! {ENCODERS[codec]}", f"media=video,encoding-name={codec},payload=96{FORMATS[codec]}")
            self.send(SOUND, "media=audio,encoding-name=OPUS,payload=111")
        self.pipeline.set_state(Gst.State.PLAYING)

    def tell_state(self, *_):
        say(event="state", state=self.bin.get_property("connection-state").value_nick)

    # Media

    def send(self, source, caps):
        source = Gst.parse_bin_from_description(source, True)
        self.pipeline.add(source)
        source.link_filtered(self.bin, Gst.Caps.from_string(f"application/x-rtp,{caps}"))
        # Retransmissions, which are not offered by themselves.
        self.bin.sinkpads[-1].get_property("transceiver").set_property("do-nack", "video" in caps)

    def pad_added(self, _, pad):
        if pad.direction != Gst.PadDirection.SRC:
            return
        decoder = Gst.ElementFactory.make("decodebin")
        decoder.connect("pad-added", self.decoded)
        self.pipeline.add(decoder)
        decoder.sync_state_with_parent()
        pad.link(decoder.get_static_pad("sink"))

    def decoded(self, _, pad):
        is_sound = pad.get_current_caps().to_string().startswith("audio")
        end = Gst.parse_bin_from_description(
            f"queue ! audioconvert ! audioresample ! audio/x-raw,rate={RATE},channels=1"
            f" ! spectrum bands={BANDS} interval=500000000 threshold=-90 ! fakesink sync=false" if is_sound
            else "queue ! fakesink name=end sync=false signal-handoffs=true", True)
        if not is_sound:
            end.get_by_name("end").connect("handoff", self.picture)
        self.pipeline.add(end)
        end.sync_state_with_parent()
        pad.link(end.get_static_pad("sink"))

    def picture(self, _, buffer, __):
        self.count += 1
        with buffer.map(Gst.MapFlags.READ) as content:
            self.pictures.add(zlib.crc32(content.data))
        if self.count % 15 == 0:
            say(event="picture", count=self.count, different=len(self.pictures))

    def element_says(self, _, message):
        structure = message.get_structure()
        if structure.get_name() != "spectrum":
            return
        # PyGObject cannot read a GstValueList; its text can be read: magnitude=(float){ -60, … }
        text = structure.to_string().split("magnitude=(float){", 1)[1].split("}", 1)[0]
        levels = [float(number) for number in text.split(",")]
        loudest = max(range(1, BANDS), key=levels.__getitem__)
        say(event="tone", hertz=(loudest + 0.5) * RATE / 2 / BANDS if levels[loudest] > -60 else None)

    # Descriptions

    def offer(self):
        self.kind = "offer"
        self.bin.emit("create-offer", None, Gst.Promise.new_with_change_func(self.created))

    def hear(self, kind, text):
        _, sdp = GstSdp.SDPMessage.new_from_text(text)
        types = {"offer": GstWebRTC.WebRTCSDPType.OFFER, "answer": GstWebRTC.WebRTCSDPType.ANSWER}
        description = GstWebRTC.WebRTCSessionDescription.new(types[kind], sdp)
        if kind == "answer":
            self.bin.emit("set-remote-description", description, Gst.Promise.new())
        else:
            self.kind = "answer"
            self.bin.emit("set-remote-description", description, Gst.Promise.new_with_change_func(self.answer))
        # Candidates inside a description are not taken.
        for candidate in (line for line in text.splitlines() if line.startswith("a=candidate:")):
            self.bin.emit("add-ice-candidate", 0, candidate.removeprefix("a="))

    def answer(self, promise):
        promise.wait()
        self.bin.emit("create-answer", None, Gst.Promise.new_with_change_func(self.created))

    def created(self, promise):
        promise.wait()
        # The description is freed with the reply.
        reply = promise.get_reply()
        description = reply.get_value(self.kind)
        self.bin.emit("set-local-description", description, Gst.Promise.new_with_change_func(
            lambda _: GLib.idle_add(self.describe)))

    def describe(self):
        """Once, when it is set and all candidates are known."""
        description = self.bin.get_property("local-description")
        state = self.bin.get_property("ice-gathering-state")
        if self.kind is None or description is None or state != GstWebRTC.WebRTCICEGatheringState.COMPLETE:
            return False
        sections = description.sdp.as_text().split("m=")
        missing = [text for line, text in self.candidates if line == 0 and text not in sections[1]]
        sections[1] += "".join(f"a={text}\r\n" for text in dict.fromkeys(missing))
        say(type=self.kind, sdp="m=".join(sections))
        self.kind = None
        return False

    # Data

    def adopt(self, channel, is_theirs):
        label = channel.get_property("label")
        self.channels[label] = channel
        if is_theirs:
            retransmits = channel.get_property("max-retransmits")
            say(event="channel", label=label, ordered=channel.get_property("ordered"),
                protocol=channel.get_property("protocol") or "",
                **({"maxRetransmits": retransmits} if retransmits >= 0 else {}))
        channel.connect("on-message-string", lambda _, text: say(event="message", label=label, text=text or ""))
        channel.connect("on-message-data", lambda _, data: say(
            event="message", label=label, base64=base64.b64encode(data.get_data() if data else b"").decode()))
        channel.connect("on-open", lambda _: say(event="open", label=label))
        channel.connect("on-close", lambda _: say(event="close", label=label))
        if channel.get_property("ready-state") == GstWebRTC.WebRTCDataChannelState.OPEN:
            say(event="open", label=label)

    def obey(self, line):
        said = json.loads(line)
        action, label = said.get("action"), said.get("label")
        if "sdp" in said:
            self.hear(said["type"], said["sdp"])
        elif action == "offer":
            self.offer()
        elif action == "create":
            options = Gst.Structure.new_empty("options")
            if "ordered" in said:
                options.set_value("ordered", said["ordered"])
            if "maxRetransmits" in said:
                options.set_value("max-retransmits", said["maxRetransmits"])
            if "protocol" in said:
                options.set_value("protocol", said["protocol"])
            self.adopt(self.bin.emit("create-data-channel", label, options), is_theirs=False)
        elif action == "send" and "text" in said:
            self.channels[label].emit("send-string", said["text"])
        elif action == "send":
            self.channels[label].emit("send-data", GLib.Bytes.new(base64.b64decode(said["base64"])))
        elif action == "close":
            self.channels[label].emit("close")
        elif action == "quit":
            loop.quit()
        return False


Gst.init(None)
loop = GLib.MainLoop()
peer = Peer(sys.argv[1] if len(sys.argv) > 1 else None)


def listen():
    for line in sys.stdin:
        GLib.idle_add(peer.obey, line)
    GLib.idle_add(loop.quit)


threading.Thread(target=listen, daemon=True).start()
loop.run()
peer.pipeline.set_state(Gst.State.NULL)
