"""A datagram of DTLS's handshake is lost, between Roost and Pion: both go on soon, whoever is the client.

Pion (of Debian, DTLS 2.2) as a server reads nothing for a second, data channels included, at each datagram of a flight
that it has had already: a client that sends its last flight again often keeps it deaf.
"""

from contextlib import contextmanager

import pytest

from peers.data_peer import PionDataPeer, RoostPeer, ending
from support.namespace import Wire
from test_data_channels import connect, talk
from test_examples import find_example

FLIGHTS = ["client_hello", "server_hello", "certificate", "change_cipher_spec"]


@contextmanager
def joined(*lost):
    """Roost and Pion at the ends of a wire that loses these flights once."""
    wire = Wire(loss=0, delay=0.005, jitter=0, lost_flights=lost)
    peers = []
    try:
        with ending(peers):
            near, far = wire.ends
            peers.append(RoostPeer(find_example("data-channel-chat"), near))
            peers.append(PionDataPeer(far))
            yield wire, *peers
    finally:
        if wire.process.poll() is None:
            wire.close()


@pytest.mark.parametrize("roost_is_client", [True, False], ids=["client", "server"])
@pytest.mark.parametrize("flight", FLIGHTS)
def test_a_lost_flight_is_sent_again_and_no_more_often_than_it_has_to(flight, roost_is_client):
    with joined(flight) as (wire, roost, pion):
        # Whoever answers is the client (RFC 8842 §5.3).
        offerer, answerer = (pion, roost) if roost_is_client else (roost, pion)
        ours = offerer.create("chat")
        connect(offerer, answerer)
        talk(ours.wait_open(), answerer.channel("chat").wait_open())
        _, lost = wire.close()
    assert lost == 1
    if roost_is_client:
        # After 50 ms at first, and twice as long each time, it went five times and more before Pion had heard it.
        assert wire.flights["certificate"] <= 4, wire.flights
