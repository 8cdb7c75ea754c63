"""`roost serve` with LiveKit's protocol in a namespace, and its participants by LiveKit's Python SDK."""

import datetime
import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from livekit import api

from peers.roost_peer import start_server
from support.evidence import Evidence
from support.process import JSONProcess
from support.waiting import PATIENCE, wait_until

KEY, SECRET = "APIroost", "a-secret-of-forty-two-bytes-for-the-tests!"
PEER = Path(__file__).with_name("livekit_peer.py")


def token(room, identity, valid=600, metadata="", **grants):
    """By LiveKit's own package."""
    video = api.VideoGrants(room_join=True, room=room, **grants)
    made = api.AccessToken(KEY, SECRET).with_identity(identity).with_grants(video).with_metadata(metadata)
    return made.with_ttl(datetime.timedelta(seconds=valid)).to_jwt()


class Server:
    """LiveKit's Rust takes no loopback for media: the server is on the namespace's own address."""

    media = ("--media-port", 0, "--media-tcp-port", 0)

    def __init__(self, namespace, *options, trusts=None, port=0, host=None):
        """`trusts`: the certificate that clients take, if the server has one."""
        self.namespace, self.trusts = namespace, trusts
        self.process, self.page = start_server(
            namespace, host or namespace.address, "--livekit-key", f"{KEY}:{SECRET}", "--livekit-port", port,
            *self.media, *options)
        self.port = self.process.wait_for("listening")["livekit_port"]
        self.numbers = itertools.count(1)
        self.peers = []

    @property
    def url(self):
        return f"{'wss' if self.trusts else 'ws'}://{self.namespace.address}:{self.port}"

    @property
    def http(self):
        return f"http://{self.namespace.address}:{self.port}"

    def new_room(self):
        return f"room {next(self.numbers)}"

    def join(self, room, identity, *options, wait=True, namespace=None, **grants):
        """A process that is in the room when this returns; in the server's namespace, if no other is named."""
        peer = Participant(self, room, identity, options, grants, namespace=namespace)
        self.peers.append(peer)
        if wait:
            peer.wait_for("joined")
        return peer

    def metrics(self):
        """With the sum over all workers under the name alone."""
        text = self.namespace.fetch(f"{self.http}/metrics").decode()
        found = {name: int(value) for name, value in re.findall(r"^(roost_livekit\S*) (\d+)$", text, re.MULTILINE)}
        for name, value in list(found.items()):
            if name.endswith('"}') and (bare := re.sub(r'\{worker="\d+"\}$', "", name)) != name:
                found[bare] = found.get(bare, 0) + value
        return found

    def peers_of_workers(self):
        name = "roost_livekit_peer_connections{"
        return [value for key, value in self.metrics().items() if key.startswith(name)]

    def wait_empty(self):
        names = ("roost_livekit_peer_connections", "roost_livekit_signaling_connections")
        wait_until(lambda: all(self.metrics()[name] == 0 for name in names), "nothing is kept of those who have left")

    def leave_all(self):
        for peer in self.peers:
            peer.finish()
        self.peers = []

    def close(self):
        self.leave_all()
        return self.process.finish()


class Front(Server):
    """`roost serve` before a cluster: it has no media."""

    media = ()

    def __init__(self, namespace, cluster, *options, **fields):
        super().__init__(namespace, "--livekit-url", cluster, *options, **fields)


class Participant:
    def __init__(self, server, room, identity, options, grants, ticket=None, namespace=None):
        """`ticket`: a URL and a token that somebody else has made."""
        self.identity = identity
        url, jwt = ticket or (server.url, token(room, identity, **grants))
        command = (namespace or server.namespace).command(sys.executable, PEER, "--url", url, "--token", jwt, *options)
        environment = {"SSL_CERT_FILE": str(server.trusts)} if server.trusts else {}
        self.process = JSONProcess(
            f"{identity} in {room}", command, stdin=subprocess.PIPE, env={**os.environ, **environment})
        self.wait_for = self.process.wait_for
        self.reports = self.traffics = 0

    def do(self, what, **fields):
        self.process.tell({"do": what, **fields})

    def publish(self, codec="VP8", hertz=880, **video):
        """Pictures and sound; back when the room knows of both."""
        self.do("publish_video", codec=codec, **video)
        self.do("publish_audio", hertz=hertz)
        return [self.wait_for("own_track", name=name)["sid"] for name in ("camera", "microphone")]

    def report(self, name, fresh=False):
        self.do("report", name=name, fresh=fresh)
        self.reports += 1
        return self.wait_for("report", number=self.reports - 1)

    def traffic(self, name):
        """Packets and bytes that have come of a track."""
        self.do("traffic", name=name)
        self.traffics += 1
        return self.wait_for("traffic", number=self.traffics - 1)

    def own_traffic(self, name):
        """Frames that were encoded of an own track, and packets that were sent."""
        self.do("own_traffic", name=name)
        self.traffics += 1
        return self.wait_for("own_traffic", number=self.traffics - 1)

    def wait_until(self, name, check, what):
        """Until a track's report is as it should be."""
        wait_until(lambda: check(self.report(name)), lambda: f"{self.identity}: {what}\n{self.process.transcript()}")

    def wait_until_still(self, name):
        """Until nothing new has come on a track for a second."""
        def is_still():
            before = len(self.report(name)["counters"])
            time.sleep(1)
            return len(self.report(name)["counters"]) == before

        wait_until(is_still, lambda: f"nothing comes on {name}\n{self.process.transcript()}")

    def wait_for_picture(self, frames=45, name="camera"):
        self.wait_until(name, lambda report: len(report["counters"]) >= frames, f"{frames} frames of {name}")

    def check_picture(self, frames=45, name="camera", **limits):
        """Decoded frames with a counter that goes forward."""
        self.wait_for_picture(frames, name)
        evidence = Evidence(self.identity, counters=self.report(name)["counters"])
        evidence.check_picture(least=frames, **limits)

    def check_sound(self, hertz, seconds=2.0, name="microphone", **limits):
        pieces = int(seconds * 2) + 1
        self.wait_until(name, lambda report: len(report["hertz"]) >= pieces, f"{seconds} s of {name}")
        # The first piece has the jitter buffer's beginning in it.
        evidence = Evidence(self.identity, hertz=self.report(name)["hertz"][1:])
        evidence.check_sound([hertz], seconds - 0.5, **limits)

    def leave(self):
        self.do("leave")
        return self.process.wait(PATIENCE)

    def finish(self):
        self.process.kill()
        self.process.wait()
        self.process.finish()
