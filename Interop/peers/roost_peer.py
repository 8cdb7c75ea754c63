"""`roost call` as a peer, and `roost serve` as the server."""

import os
from pathlib import Path

import numpy as np

from support.evidence import MEDIA, PIECE, REPOSITORY, TONES, Evidence, frame_counter, loudest
from support.process import JSONProcess
from support.waiting import PATIENCE


def find_roost():
    """$ROOST_BIN, or what was built last; None when nothing was."""
    if named := os.environ.get("ROOST_BIN"):
        return Path(named)
    built = [REPOSITORY / ".build" / kind / "roost" for kind in ("release", "debug")]
    return max((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime, default=None)


def cheap_passwords(options):
    """Options of `roost serve` beside these: people of tests have no secrets, and a quarter of a second of a core for each
    of their passwords is a large part of all that the tests cost."""
    return () if "--data" not in options or "--password-cost" in options else ("--password-cost", 10)


def start_server(namespace, host="127.0.0.1", *options):
    """`roost serve` on free ports, without the echo peer; returns the process and the page's port."""
    command = [find_roost(), "serve", "--host", host, "--port", 0, "--signaling-port", 0, "--json"]
    if "--echo" not in options:
        command.append("--no-echo")
    command += [*cheap_passwords(options), *options]
    process = JSONProcess("roost serve", namespace.command(*command), cwd=REPOSITORY)
    try:
        return process, process.wait_for("listening")["port"]
    except AssertionError:
        process.finish()
        raise


class RoostPeer:
    """`roost call`: sends the test files, records what comes; the recording is read back when the call is over."""

    tones = TONES

    def __init__(self, namespace, server, room, name, role, folder, codec=None, srtp=None, restart_ice=None,
                 addresses=None, options=()):
        self.name, self.folder = name, folder
        command = [find_roost(), "call", "--room", room, "--as", name, f"--{role}", "--server", server, "--json"]
        command += ["--record", folder, "--wait", f"{PATIENCE}s", *options]
        for address in addresses or [namespace.address]:
            command += ["--address", address]
        if codec:
            video = {"H264": "webRtcTestVideo.mp4", "VP8": "webRtcTestVideo.ivf"}[codec]
            command += ["--video", MEDIA / video, "--audio", MEDIA / "webRtcTestVideo.ogg"]
        if srtp:
            command += ["--srtp", srtp]
        if restart_ice:
            command += ["--restart-ice", restart_ice]
        self.process = JSONProcess(f"roost {name}", namespace.command(*command), cwd=REPOSITORY)

    def wait_joined(self):
        self.process.wait_for("room", message="Connected")

    def wait_connected(self):
        self.process.wait_for("state", state="connected")

    def statistics(self):
        return self.process.last("statistics") or {}

    def received(self):
        """How many frames and half seconds of sound have come so far; what they hold, the recording tells.

        A frame of sound lasts 20 ms.
        """
        line = self.statistics()
        return line.get("video_received", {}).get("frames", 0), line.get("audio_received", {}).get("frames", 0) // 25

    def collect(self):
        """Nothing to do: the process gives its evidence at its end."""

    def finish(self):
        self.status = self.process.finish()
        recording = self.process.last("recording")
        assert recording is not None, f"{self.name} recorded nothing\n{self.transcript()}"
        codec = self.statistics().get("video_received", {}).get("codec")
        return Evidence(self.name, read_counters(recording["path"]), read_tones(recording["path"]), codec)

    def transcript(self):
        return self.process.transcript()

    def close(self):
        self.process.finish()


def read_counters(path):
    """The counter of each frame of a file, as ffmpeg decodes it."""
    width, height = frame_counter.WIDTH, frame_counter.HEIGHT
    as_it_is = ("-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray")
    process = frame_counter.decoded(path, "-vf", f"scale={width}:{height}", *as_it_is)
    counters = []
    while len(data := process.stdout.read(width * height)) == width * height:
        counters.append(frame_counter.read_counter(np.frombuffer(data, np.uint8).reshape(height, width)))
    process.stdout.close()
    process.wait()
    return counters


def read_tones(path):
    """The loudest frequency of each half second of a file's sound; None for silence."""
    rate = frame_counter.SAMPLE_RATE
    process = frame_counter.decoded(path, "-f", "s16le", "-ac", "1", "-ar", str(rate))
    samples = np.frombuffer(process.stdout.read(), "<i2").astype(np.float64)
    process.stdout.close()
    process.wait()
    length = int(PIECE * rate)
    return [loudest(samples[start : start + length], rate) for start in range(0, len(samples) - length + 1, length)]
