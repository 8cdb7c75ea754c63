"""`roost join` as a participant, beside those of `livekit_room.py`."""

import json
import subprocess

from peers.livekit_room import token
from peers.roost_peer import find_roost
from support.evidence import Evidence
from support.process import JSONProcess


def joined(sfu, room):
    """For a fixture: gives what starts `roost join --commands` in the room; it is in when that returns."""
    started = []

    def start(identity, *options, url=None, wait=True, **grants):
        command = sfu.namespace.command(
            find_roost(), "join", "--url", url or sfu.url, "--token", token(room, identity, **grants), "--json",
            "--commands", *options)
        process = JSONProcess(f"roost join as {identity}", command, stdin=subprocess.PIPE)
        started.append(process)
        if wait:
            process.wait_for("joined")
        return process

    yield start
    for process in started:
        process.kill()
        process.finish()


def recordings(folder):
    """What the index tells, by source."""
    index = folder / "index.json"
    return {one["source"]: one for one in json.loads(index.read_text())["recordings"]} if index.exists() else {}


def wait_for_file(ann, frames=60, name="webRtcTestVideo"):
    """What the SDK had of the file: both of its tracks have the file's name."""
    ann.wait_until(
        name, lambda report: len(report["counters"]) >= frames and len(report["hertz"]) >= 8, "pictures and sound")
    report = ann.report(name)
    return Evidence(ann.identity, counters=report["counters"], hertz=report["hertz"][1:])
