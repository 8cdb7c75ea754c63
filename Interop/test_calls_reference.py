"""Calls in which nothing is ours but the browser page: they tell a fault of the harness from a fault of Roost."""

import pytest

from peers.aiortc_process import AiortcPeer
from peers.chromium import ChromiumPeer
from support.call import hold_call, new_room


def caller_and_callee(kinds, namespace, browser, server, codec):
    room = new_room()

    def make(kind, name, role):
        if kind == "chromium":
            return lambda: ChromiumPeer(browser, server, room, name, role, codec=codec)
        return lambda: AiortcPeer(namespace, server, room, name, role, codec=codec)

    caller, callee = kinds.split("-")
    return make(caller, "Ann", "caller"), make(callee, "Bob", "callee")


@pytest.mark.parametrize("codec", ["VP8", "H264"])
@pytest.mark.parametrize("kinds", ["chromium-chromium", "chromium-aiortc", "aiortc-chromium", "aiortc-aiortc"])
def test_calls_over_the_seeds_server(kinds, codec, namespace, browser, seed_server):
    peers = caller_and_callee(kinds, namespace, browser, seed_server, codec)
    result = hold_call(*peers, first="caller")
    for evidence in (result.caller, result.callee):
        evidence.check()
        assert evidence.codec == codec
