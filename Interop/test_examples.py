"""The programs in Examples, with peers that we did not write: aiortc on the other end of the line, and as a WHIP endpoint."""

import asyncio
import concurrent.futures
import json
import os
import queue
import subprocess
import threading
import time
from pathlib import Path

import pytest
from aiohttp import web
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.contrib.media import MediaPlayer

from support.evidence import MEDIA, REPOSITORY
from support.waiting import PATIENCE

VIDEO, SOUND = MEDIA / "webRtcTestVideo.mp4", MEDIA / "webRtcTestVideo.ogg"


def find_example(name):
    """In $ROOST_EXAMPLES, which Scripts/test.sh sets, or where `swift build` leaves it."""
    path = Path(os.environ.get("ROOST_EXAMPLES", REPOSITORY / ".build" / "debug")) / name
    assert path.exists(), f"{path} is missing: swift build --product {name}"
    return path


class Program:
    """An example with its standard streams: one line each way for a message."""

    def __init__(self, name, *arguments):
        self.name = name
        self.notes = []
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", str(find_example(name)), *map(str, arguments), "--loopback"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
        )
        self.lines = queue.SimpleQueue()
        self.noting = threading.Thread(target=lambda: self.notes.extend(self.process.stderr), daemon=True)
        self.noting.start()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def say(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    async def hear(self):
        """The next message. Nobody blocks in a read: a loop does not end before its threads do."""
        deadline = time.monotonic() + PATIENCE
        while self.lines.empty():
            assert time.monotonic() < deadline, f"{self.name} says nothing: {''.join(self.notes)}"
            await asyncio.sleep(0.01)
        line = self.lines.get()
        assert line is not None, f"{self.name} ended: {''.join(self.notes)}"
        return json.loads(line)

    def finish(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.noting.join(5)
        self.process.stdout.close()


@pytest.fixture
def start():
    started = []

    def begin(name, *arguments):
        started.append(Program(name, *arguments))
        return started[-1]

    yield begin
    for program in started:
        program.finish()
        print(f"--- {program.name}:\n{''.join(program.notes)}")


def within_patience(story):
    """On a thread of its own: Playwright leaves a running loop behind on the tests' thread. Nobody waits for a thread that
    hangs: it would hold up all tests after it."""
    outcome = concurrent.futures.Future()

    def run():
        try:
            outcome.set_result(asyncio.run(asyncio.wait_for(story, 2 * PATIENCE)))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    outcome.result(2 * PATIENCE + 20)


async def call(program, connection, **more):
    """Offers, and takes the answer."""
    await connection.setLocalDescription(await connection.createOffer())
    program.say({"type": "offer", "sdp": connection.localDescription.sdp, **more})
    answer = await program.hear()
    await connection.setRemoteDescription(RTCSessionDescription(answer["sdp"], answer["type"]))
    return answer


def new_connection():
    return RTCPeerConnection(RTCConfiguration(iceServers=[]))


async def frames(track, count):
    """So many decoded frames, each later than the one before."""
    times = [(await asyncio.wait_for(track.recv(), PATIENCE)).pts for _ in range(count)]
    assert times == sorted(set(times)), times


def test_echo_sends_back_what_comes(start):
    async def story():
        connection = new_connection()
        for path in (VIDEO, SOUND):
            player = MediaPlayer(str(path))
            connection.addTrack(player.video or player.audio)
        tracks = []
        connection.on("track", tracks.append)
        await call(start("echo"), connection)
        assert {track.kind for track in tracks} == {"video", "audio"}
        for track in tracks:
            await frames(track, 40)
        await connection.close()

    within_patience(story())


def test_broadcast_shows_one_file_to_viewers_who_come_and_go(start):
    async def story():
        studio = start("broadcast", VIDEO)
        viewers = {}
        for name in ("Ann", "Bob", "Cyd"):
            connection = new_connection()
            connection.addTransceiver("video", direction="recvonly")
            shown = []
            connection.on("track", shown.append)
            assert (await call(studio, connection, peer=name))["peer"] == name
            viewers[name] = (connection, shown[0])
            await frames(shown[0], 10)
        await viewers["Bob"][0].close()
        for name in ("Ann", "Cyd"):
            await frames(viewers[name][1], 30)
            await viewers[name][0].close()

    within_patience(story())


def test_perfect_negotiation_survives_offers_that_cross(start):
    polite, impolite = start("perfect-negotiation", "--polite"), start("perfect-negotiation")

    both_offered = threading.Barrier(2)

    def carry(source, target):
        crossing = True
        while (line := source.lines.get()) is not None:
            if crossing:
                both_offered.wait(PATIENCE)
                crossing = False
            try:
                target.process.stdin.write(line)
                target.process.stdin.flush()
            except (BrokenPipeError, ValueError):
                return

    for pair in ((polite, impolite), (impolite, polite)):
        threading.Thread(target=carry, args=pair, daemon=True).start()

    async def story():
        for program in (polite, impolite):
            while not any(note.startswith("connected") for note in program.notes):
                assert program.process.poll() is None, program.notes
                await asyncio.sleep(0.05)

    within_patience(story())
    collisions = [note for program in (polite, impolite) for note in program.notes if "Both offered" in note]
    assert collisions, "both offered before either heard the other"


class Endpoint:
    """A WHIP endpoint: aiohttp in front of aiortc."""

    def __init__(self, token):
        self.token = token
        self.connection = None
        self.tracks = []
        self.ended = asyncio.Event()

    async def serve(self):
        application = web.Application()
        application.router.add_post("/whip", self.begin)
        application.router.add_delete("/sessions/1", self.end)
        self.runner = web.AppRunner(application)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/whip"

    async def begin(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401)
        assert request.content_type == "application/sdp"
        self.connection = new_connection()
        self.connection.on("track", self.tracks.append)
        await self.connection.setRemoteDescription(RTCSessionDescription(await request.text(), "offer"))
        await self.connection.setLocalDescription(await self.connection.createAnswer())
        return web.Response(
            status=201, content_type="application/sdp", headers={"Location": "/sessions/1"},
            text=self.connection.localDescription.sdp,
        )

    async def end(self, request):
        self.ended.set()
        return web.Response()


def test_whip_publishes_a_file_and_ends_the_session(start):
    async def story():
        endpoint = Endpoint("secret")
        url = await endpoint.serve()
        program = start("whip-publish", url, VIDEO, SOUND, "--token=secret")
        while len(endpoint.tracks) < 2:
            assert program.process.poll() is None, program.notes
            await asyncio.sleep(0.05)
        await asyncio.gather(*(frames(track, 60) for track in endpoint.tracks))
        await asyncio.wait_for(endpoint.ended.wait(), PATIENCE)
        assert await asyncio.to_thread(program.process.wait, PATIENCE) == 0
        await endpoint.connection.close()
        await endpoint.runner.cleanup()

    within_patience(story())


def test_whip_says_what_is_wrong(start):
    async def story():
        endpoint = Endpoint("secret")
        url = await endpoint.serve()
        for address, says in ((url, "wants another token"), (url + "x", "no WHIP endpoint")):
            program = start("whip-publish", address, VIDEO)
            assert await asyncio.to_thread(program.process.wait, PATIENCE) == 1
            program.noting.join(5)
            assert says in "".join(program.notes), program.notes
        await endpoint.runner.cleanup()

    within_patience(story())
