"""`roost join` as a participant, beside those of `livekit_room.py`."""

import subprocess

from peers.livekit_room import token
from peers.roost_peer import find_roost
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
