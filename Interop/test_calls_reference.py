"""Calls over the seed's server, which tells only those present about a newcomer.

Those of Chromium and aiortc, in which nothing is ours but the browser page, tell a fault of the harness from a fault of
Roost. Those of `roost call` show that our client copes with a server that is not ours.
"""

import pytest

from peers.aiortc_process import AiortcPeer
from peers.chromium import ChromiumPeer
from peers.roost_peer import RoostPeer
from support.call import hold_call, new_room


@pytest.fixture
def peers(namespace, browser, seed_server, tmp_path):
    """Makes the makers of a call's two peers."""
    room = new_room()

    def peer(kind, role, codec):
        name = {"caller": "Ann", "callee": "Bob"}[role]
        match kind:
            case "roost":
                return lambda: RoostPeer(namespace, seed_server, room, name, role, tmp_path / name, codec)
            case "chromium":
                return lambda: ChromiumPeer(browser, seed_server, room, name, role, codec)
            case "aiortc":
                return lambda: AiortcPeer(namespace, seed_server, room, name, role, codec)

    return peer


@pytest.mark.combinations
@pytest.mark.parametrize("codec", ["VP8", "H264"])
@pytest.mark.parametrize("kinds", ["chromium-chromium", "chromium-aiortc", "aiortc-chromium", "aiortc-aiortc"])
def test_calls_over_the_seeds_server(kinds, codec, peers):
    """The caller is first: whoever is told of a callee calls, and the page and aiortc call nobody unseen."""
    talk(kinds, codec, peers, first="caller")


@pytest.mark.parametrize("kinds", ["roost-roost", "roost-chromium", "roost-aiortc", "chromium-roost", "aiortc-roost"])
def test_roost_calls_over_the_seeds_server(kinds, peers):
    talk(kinds, "VP8", peers, first="caller")


@pytest.mark.parametrize("kinds", ["roost-roost", "roost-chromium", "roost-aiortc"])
def test_roost_calls_a_callee_of_whom_nobody_told_it(kinds, peers):
    """It comes second and hears nothing of who was there before; its offer finds the callee."""
    talk(kinds, "H264", peers, first="callee")


def talk(kinds, codec, peers, first):
    caller, callee = kinds.split("-")
    result = hold_call(peers(caller, "caller", codec), peers(callee, "callee", codec), first=first)
    for evidence in (result.caller, result.callee):
        evidence.check()
        assert evidence.codec == codec
