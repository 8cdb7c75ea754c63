"""Calls through coturn by a caller whose addresses come and go; coturn's log says what became of its allocations."""

from types import SimpleNamespace

import pytest

from peers.roost_peer import RoostPeer, start_server
from peers.turn_server import Coturn
from support.call import hold_call, new_room
from support.namespace import Namespace
from support.waiting import wait_until

# The caller's. coturn, the room and the callee are at the namespace's own address, of the same network (RFC 5737).
FIRST, SECOND = "192.0.2.10", "192.0.2.11"


@pytest.fixture
def hold(tmp_path):
    """Holds a call whose caller is reached through coturn alone."""
    network = Namespace().add_interface()
    # So that what is sent to an address that is gone vanishes, as on any network, instead of being refused at once.
    network.ip("route", "add", "192.0.2.0/24", "dev", "media0")
    started = []

    def begin(addresses, during, coturn_options=(), caller_options=()):
        for address in addresses:
            network.ip("addr", "add", f"{address}/32", "dev", "media0")
        coturn = Coturn(network, *coturn_options)
        started.append(coturn.process)
        coturn.wait_listening()
        server, port = start_server(network)
        started.append(server)
        room, url = new_room(), f"http://127.0.0.1:{port}"
        relay = ["--relay-only", "--ice-server", f"turn:{coturn.address}", "--ice-user", "user", "--ice-credential",
                 "secret", *caller_options]
        context = SimpleNamespace(coturn=coturn, network=network)
        result = hold_call(
            lambda: RoostPeer(network, url, room, "Ann", "caller", tmp_path / "caller", addresses=[FIRST, SECOND],
                              options=relay),
            lambda: RoostPeer(network, url, room, "Bob", "callee", tmp_path / "callee"),
            during=lambda caller, callee: during(context, caller, callee),
        )
        return result, coturn

    yield begin
    for process in started:
        process.finish()
        print(process.transcript())
    network.close()


def wait_for_media(*peers):
    """Two seconds of pictures more than there are now."""
    before = [peer.received()[0] for peer in peers]
    wait_until(lambda: all(peer.received()[0] - had > 60 for peer, had in zip(peers, before)), "pictures come")


def test_an_allocation_follows_its_client_to_another_address(hold):
    """RFC 8016: with a ticket, coturn takes a refresh from another address for one of the same allocation."""

    def move(call, caller, callee):
        wait_for_media(caller, callee)
        since = call.coturn.lines
        call.network.ip("addr", "add", f"{SECOND}/32", "dev", "media0")
        call.network.ip("addr", "del", f"{FIRST}/32", "dev", "media0")
        wait_until(lambda: call.coturn.says(r": refreshed, .*lifetime=600", since), "coturn takes the ticket")
        wait_for_media(caller, callee)

    result, coturn = hold([FIRST], move, ["--mobility"], ["--ice-mobility"])
    for evidence in (result.caller, result.callee):
        evidence.check()
    allocations = coturn.says(r"session (\d+): new,")
    assert len(allocations) == 1, "the call went on over another allocation"
    # The caller gave it back from where it went.
    closed = rf"session {allocations[0]}: closed .* remote "
    wait_until(lambda: coturn.says(closed + SECOND), "the allocation is closed")
    assert not coturn.says(closed + FIRST)


def test_an_address_that_goes_leaves_the_allocation_of_another_alone(hold):
    """A caller with two networks has an allocation from each. One that loses its network must not be asked for again
    from the other's socket: before that the client gives back what the server has for that socket."""

    def leave(call, caller, callee):
        wait_until(lambda: len(call.coturn.says(": new, ")) == 2, "an allocation from each address")
        wait_for_media(caller, callee)
        since = call.coturn.lines
        call.network.ip("addr", "del", f"{FIRST}/32", "dev", "media0")
        wait_for_media(caller, callee)
        assert not call.coturn.says("lifetime=0|error 437", since)

    hold([FIRST, SECOND], leave)
