"""Peers for data channels with one face: Roost's `data-channel-chat`, aiortc, libdatachannel, Pion, a page.

Each has `create`, `channel` (the peer's, by label), `offer`, `answer`, `accept` and `close`; a channel has `send`,
`receive`, `wait_open`, `close`, `wait_closed` and, when the other side made it, `options` under their names of W3C's
API. All block, with patience. What a peer hears is `str` or `bytes`.
"""

import asyncio
import base64
import json
import queue
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from peers.libdatachannel_process import find_libdatachannel_python
from peers.pion import find_pion_peer
from support.evidence import REPOSITORY
from support.waiting import PATIENCE, wait_until


OPTIONS = ("ordered", "maxRetransmits", "maxPacketLifeTime", "protocol")


@contextmanager
def ending(peers):
    """Ends these peers, and those that were added meanwhile. What fails tells what they have said."""
    try:
        yield
    except BaseException as error:
        error.add_note("\n".join(peer.transcript() for peer in peers))
        raise
    finally:
        for peer in peers:
            peer.close()


class Channel:
    """What is heard of one channel; who runs the peer fills it from any thread."""

    def __init__(self, peer, label):
        self.peer, self.label = peer, label
        self.inbox = queue.Queue()
        self.opened, self.closed = threading.Event(), threading.Event()

    def wait_open(self):
        assert self.opened.wait(PATIENCE), f"{self.label} does not open\n{self.peer.transcript()}"
        return self

    def wait_closed(self):
        assert self.closed.wait(PATIENCE), f"{self.label} does not close\n{self.peer.transcript()}"

    def receive(self):
        try:
            return self.inbox.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"nothing comes on {self.label}\n{self.peer.transcript()}") from None


class Peer:
    def __init__(self):
        self.channels = {}
        self._changed = threading.Condition()

    def _adopt(self, channel):
        with self._changed:
            self.channels[channel.label] = channel
            self._changed.notify_all()
        return channel

    def channel(self, label):
        """The channel of this label that the other side has opened."""
        with self._changed:
            found = self._changed.wait_for(lambda: label in self.channels, PATIENCE)
            assert found, f"no channel {label}\n{self.transcript()}"
            return self.channels[label]

    def transcript(self):
        return f"{type(self).__name__}: {sorted(self.channels)}"


# --- Processes that speak lines of JSON


class ProcessChannel(Channel):
    def send(self, message):
        if isinstance(message, str):
            self.peer.say(action="send", label=self.label, text=message)
        else:
            self.peer.say(action="send", label=self.label, base64=base64.b64encode(message).decode())

    def close(self):
        self.peer.say(action="close", label=self.label)


class ProcessPeer(Peer):
    def __init__(self, command):
        super().__init__()
        self.lines, self.descriptions = [], queue.Queue()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=REPOSITORY,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def say(self, **instruction):
        self.process.stdin.write(json.dumps(instruction) + "\n")
        self.process.stdin.flush()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line[:300])
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if "sdp" in said:
                self.descriptions.put((said["type"], said["sdp"]))
                continue
            event, label = said["event"], said.get("label")
            if event == "channel":
                channel = ProcessChannel(self, label)
                channel.options = {name: said.get(name) for name in OPTIONS}
                self._adopt(channel)
                continue
            if (channel := self.channels.get(label)) is None:
                continue
            if event == "open":
                channel.opened.set()
            elif event == "close":
                channel.closed.set()
            elif event == "message":
                channel.inbox.put(said["text"] if "text" in said else base64.b64decode(said["base64"]))

    def create(self, label, **options):
        channel = self._adopt(ProcessChannel(self, label))
        self.say(action="create", label=label, **options)
        return channel

    def _description(self):
        try:
            return self.descriptions.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"no description\n{self.transcript()}") from None

    def offer(self):
        self.say(action="offer")
        return self._description()

    def answer(self, offer):
        self.say(type=offer[0], sdp=offer[1])
        return self._description()

    def accept(self, answer):
        self.say(type=answer[0], sdp=answer[1])

    def wait_state(self, state):
        wait_until(lambda: any(f'"state":"{state}"' in line for line in self.lines), f"{state}\n{self.transcript()}")

    def heard(self, event):
        """All that it said with this `event`."""
        return [json.loads(line) for line in list(self.lines) if line.startswith(f'{{"event": "{event}"')]

    def transcript(self):
        return f"--- {type(self).__name__} (status {self.process.poll()}):\n" + "".join(self.lines[-40:])

    def close(self):
        if self.process.poll() is None:
            try:
                self.say(action="quit")
                self.process.wait(10)
            except (OSError, subprocess.TimeoutExpired):
                self.process.kill()
        self.process.wait()
        self.reader.join(10)
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except OSError:
                pass


class RoostPeer(ProcessPeer):
    """Examples/data-channel-chat; in a namespace where the other peer is in one."""

    def __init__(self, example, namespace=None):
        command = ["setpriv", "--pdeathsig", "KILL", str(example), "--json", "--loopback"]
        super().__init__(namespace.command(*command) if namespace else command)


# --- libdatachannel


class PylibdatachannelPeer(ProcessPeer):
    """See `pylibdatachannel_peer.py`."""

    def __init__(self):
        program = Path(__file__).with_name("pylibdatachannel_peer.py")
        super().__init__(["setpriv", "--pdeathsig", "KILL", sys.executable, str(program)])


class LibdatachannelPeer(ProcessPeer):
    """See `libdatachannel_peer.py`."""

    def __init__(self):
        program = Path(__file__).with_name("libdatachannel_peer.py")
        super().__init__(["setpriv", "--pdeathsig", "KILL", find_libdatachannel_python(), str(program)])

    def add_audio(self):
        self.say(action="addAudio")


# --- Pion


class PionDataPeer(ProcessPeer):
    """See `pion_peer/data.go`; in a namespace, for Pion passes loopback over."""

    def __init__(self, namespace):
        super().__init__(namespace.command("setpriv", "--pdeathsig", "KILL", str(find_pion_peer()), "data"))


# --- GStreamer


class GStreamerPeer(ProcessPeer):
    """See `gstreamer_peer.py`; in a namespace, for libnice passes loopback over as libwebrtc does."""

    def __init__(self, namespace, codec=None):
        program = Path(__file__).with_name("gstreamer_peer.py")
        command = ["setpriv", "--pdeathsig", "KILL", "/usr/bin/python3", str(program)]
        super().__init__(namespace.command(*command, *([codec] if codec else [])))


# --- aiortc


class AiortcChannel(Channel):
    def __init__(self, peer, channel):
        super().__init__(peer, channel.label)
        self.channel = channel
        channel.on("message", self.inbox.put)
        channel.on("open", self.opened.set)
        channel.on("close", self.closed.set)
        if channel.readyState == "open":
            self.opened.set()

    def send(self, message):
        self.peer.loop.call_soon_threadsafe(self.channel.send, message)

    def close(self):
        self.peer.loop.call_soon_threadsafe(self.channel.close)

    @property
    def options(self):
        return {name: getattr(self.channel, name) for name in OPTIONS}


class AiortcPeer(Peer):
    """In this process, on an event loop of its own."""

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.connection = self.run(self._make())

    async def _make(self):
        connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        connection.on("datachannel", lambda channel: self._adopt(AiortcChannel(self, channel)))
        return connection

    def run(self, story):
        return asyncio.run_coroutine_threadsafe(story, self.loop).result(PATIENCE)

    def create(self, label, **options):
        async def make():
            return AiortcChannel(self, self.connection.createDataChannel(label, **options))

        return self._adopt(self.run(make()))

    def add_audio(self):
        async def add():
            self.connection.addTransceiver("audio")

        self.run(add())

    def _local(self):
        return self.connection.localDescription.type, self.connection.localDescription.sdp

    def offer(self):
        async def story():
            await self.connection.setLocalDescription(await self.connection.createOffer())
            return self._local()

        return self.run(story())

    def answer(self, offer):
        async def story():
            await self.connection.setRemoteDescription(RTCSessionDescription(offer[1], offer[0]))
            await self.connection.setLocalDescription(await self.connection.createAnswer())
            return self._local()

        return self.run(story())

    def accept(self, answer):
        self.run(self.connection.setRemoteDescription(RTCSessionDescription(answer[1], answer[0])))

    def close(self):
        self.run(self.connection.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


# --- Chromium and Firefox

PAGE = """
() => {
  globalThis.connection = new RTCPeerConnection();
  globalThis.channels = {};
  globalThis.adopt = (channel) => {
    channel.binaryType = 'arraybuffer';
    const entry = { channel, heard: [], closed: false };
    globalThis.channels[channel.label] = entry;
    channel.onmessage = ({ data }) => entry.heard.push(data);
    channel.onclose = () => { entry.closed = true; };
  };
  connection.ondatachannel = ({ channel }) => adopt(channel);
  globalThis.local = async () => {
    if (connection.iceGatheringState !== 'complete') {
      await new Promise((resolve) => {
        connection.onicegatheringstatechange = () => connection.iceGatheringState === 'complete' && resolve();
      });
    }
    return [connection.localDescription.type, connection.localDescription.sdp];
  };
  globalThis.fromBase64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  globalThis.toBase64 = (bytes) => {
    let text = '';
    for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
    return btoa(text);
  };
}
"""


class PageChannel:
    """Who drives a browser has one thread, so this asks instead of being told."""

    def __init__(self, peer, label):
        self.peer, self.label = peer, label

    def _wait(self, condition):
        self.peer.page.wait_for_function(
            f"(label) => {{ const entry = channels[label]; return {condition}; }}", arg=self.label,
            timeout=1000 * PATIENCE, polling=20,
        )

    def wait_open(self):
        self._wait("entry?.channel.readyState === 'open'")
        return self

    def wait_closed(self):
        self._wait("entry?.closed")

    def receive(self):
        self._wait("entry?.heard.length > 0")
        kind, text = self.peer.page.evaluate(
            """(label) => {
              const data = channels[label].heard.shift();
              return typeof data === 'string' ? ['text', data] : ['binary', toBase64(data)];
            }""",
            self.label,
        )
        return text if kind == "text" else base64.b64decode(text)

    def send(self, message):
        is_text = isinstance(message, str)
        self.peer.page.evaluate(
            "([label, isText, data]) => channels[label].channel.send(isText ? data : fromBase64(data))",
            [self.label, is_text, message if is_text else base64.b64encode(message).decode()],
        )

    def close(self):
        self.peer.page.evaluate("(label) => channels[label].channel.close()", self.label)

    @property
    def options(self):
        return self.peer.page.evaluate(
            "([label, names]) => Object.fromEntries(names.map((name) => [name, channels[label].channel[name]]))",
            [self.label, OPTIONS],
        )


class PagePeer:
    """A page of nothing but a connection, in whichever browser."""

    def __init__(self, page):
        self.page = page
        self.page.evaluate(PAGE)

    def create(self, label, **options):
        self.page.evaluate(
            "([label, options]) => adopt(connection.createDataChannel(label, options))", [label, options]
        )
        return PageChannel(self, label)

    def channel(self, label):
        self.page.wait_for_function("(label) => label in channels", arg=label, timeout=1000 * PATIENCE, polling=20)
        return PageChannel(self, label)

    def add_audio(self):
        self.page.evaluate("() => { connection.addTransceiver('audio'); }")

    def offer(self):
        return self.page.evaluate("async () => { await connection.setLocalDescription(); return local(); }")

    def answer(self, offer):
        return self.page.evaluate(
            """async ([type, sdp]) => {
              await connection.setRemoteDescription({ type, sdp });
              await connection.setLocalDescription();
              return local();
            }""",
            list(offer),
        )

    def accept(self, answer):
        self.page.evaluate(
            "async ([type, sdp]) => { await connection.setRemoteDescription({ type, sdp }); }", list(answer)
        )

    def transcript(self):
        return f"The page: {self.page.evaluate('() => [connection.connectionState, Object.keys(channels)]')}"

    def close(self):
        self.page.context.close()
