"""Pion as a receiver of simulcast: starts pion_peer and reads what it says."""

import os
import subprocess
from pathlib import Path

import pytest

from peers.examples import Example
from support.evidence import REPOSITORY
from support.process import JSONProcess


def find_pion_peer():
    """$PION_PEER, or what Scripts/pion-peer.sh builds. A test without it fails."""
    path = Path(os.environ.get("PION_PEER", REPOSITORY / ".build" / "peers" / "pion-peer"))
    if not path.exists():
        pytest.fail(f"{path} is missing: Scripts/pion-peer.sh")
    return path


class PionPeer(Example):
    """Speaks as the programs of Examples do."""

    def __init__(self, namespace):
        JSONProcess.__init__(self, "Pion", namespace.command(find_pion_peer()), stdin=subprocess.PIPE)

    def answer(self, offer):
        self.tell(offer)
        return self.description("answer")

    def frames(self, rid):
        """What it has told of a layer's frames."""
        return [line for line in self.all("frame") if line["rid"] == rid]

    def request_key_frame(self, rid):
        self.tell({"action": "requestKeyFrame", "rid": rid})
