"""Data channels between Roost and aiortc, libdatachannel, Pion and browsers: Examples/data-channel-chat on our side."""

import hashlib
from contextlib import contextmanager

import pytest

from peers.data_peer import (
    AiortcPeer, LibdatachannelPeer, PagePeer, PionDataPeer, PylibdatachannelPeer, RoostPeer, ending,
)
from peers.libdatachannel_process import need_libdatachannel
from support.waiting import wait_until
from test_examples import find_example

BROWSERS = ["chromium", "firefox"]
PROCESSES = {"aiortc": AiortcPeer, "libdatachannel": LibdatachannelPeer, "pylibdatachannel": PylibdatachannelPeer}
ALL = [*PROCESSES, "pion", *BROWSERS]
# The binding of the older libdatachannel makes plain channels only, and offers once.
SETTABLE = [kind for kind in ALL if kind != "pylibdatachannel"]
# Pion of Debian sends no message of more than 64 KiB.
LARGE = [kind for kind in ALL if kind != "pion"]
# libdatachannel, also with itself, begins no SCTP on a transport that has carried media alone.
EXTENSIBLE = [kind for kind in SETTABLE if kind != "libdatachannel"]
PLAIN = {"ordered": True, "maxRetransmits": None, "maxPacketLifeTime": None, "protocol": ""}
OPTIONS = {
    "unordered": {"ordered": False},
    "once": {"ordered": False, "maxRetransmits": 0, "protocol": "game"},
    "four times": {"maxRetransmits": 3, "protocol": "chess"},
    "timely": {"ordered": False, "maxPacketLifeTime": 1500},
}
MESSAGES = ["Grüße 👋", "", b"\x00\x01\xff", b"", "x" * 1200, bytes(range(256)) * 40]


@pytest.fixture
def meet(namespace, browser_called):
    """Starts Roost and another peer, in one network; ends both."""

    @contextmanager
    def together(kind):
        example = find_example("data-channel-chat")
        if kind == "libdatachannel":
            need_libdatachannel()
        if kind in BROWSERS:
            page = browser_called(kind).new_page()
            peers = RoostPeer(example, namespace), PagePeer(page)
        elif kind == "pion":
            peers = RoostPeer(example, namespace), PionDataPeer(namespace)
        else:
            peers = RoostPeer(example), PROCESSES[kind]()
        with ending(peers):
            yield peers

    return together


def connect(offerer, answerer):
    offerer.accept(answerer.answer(offerer.offer()))


def talk(one, other, messages=MESSAGES):
    for sender, receiver in ((one, other), (other, one)):
        for message in messages:
            sender.send(message)
        for message in messages:
            assert receiver.receive() == message


@pytest.mark.parametrize("roost_offers", [True, False], ids=["offers", "answers"])
@pytest.mark.parametrize("kind", ALL)
def test_messages_of_every_kind_both_ways(meet, kind, roost_offers):
    with meet(kind) as (roost, peer):
        offerer, answerer = (roost, peer) if roost_offers else (peer, roost)
        ours = offerer.create("chat")
        connect(offerer, answerer)
        theirs = answerer.channel("chat")
        talk(ours.wait_open(), theirs.wait_open())
        # And one that the answerer opens, on the other parity of streams.
        back = answerer.create("back")
        talk(back.wait_open(), offerer.channel("back").wait_open(), ["x"])


@pytest.mark.parametrize("kind", LARGE)
def test_large_messages_arrive_intact(meet, kind):
    with meet(kind) as (roost, peer):
        # What it describes comes after it has begun to do this.
        roost.say(action="listen", mode="echo")
        roost.create("files")
        connect(roost, peer)
        channel = peer.channel("files").wait_open()
        for seed in (b"a", b"b", b"c"):
            message = hashlib.shake_256(seed).digest(262_144)
            channel.send(message)
            heard = channel.receive()
            assert hashlib.sha256(heard).digest() == hashlib.sha256(message).digest()


@pytest.mark.parametrize("kind", ALL)
def test_either_side_closes_and_streams_are_used_again(meet, kind):
    with meet(kind) as (roost, peer):
        roost.create("first")
        connect(roost, peer)
        peer.channel("first").wait_open()
        for number in range(4):
            label = f"round {number}"
            ours = roost.create(label).wait_open()
            theirs = peer.channel(label).wait_open()
            talk(ours, theirs, [label])
            (ours if number % 2 else theirs).close()
            ours.wait_closed()
            theirs.wait_closed()


@pytest.mark.parametrize("kind", ALL)
def test_hundreds_of_channels(meet, kind):
    with meet(kind) as (roost, peer):
        roost.say(action="listen", mode="echo")
        roost.say(action="create", label="many", count=200)
        connect(roost, peer)
        channels = [peer.channel(f"many {number}").wait_open() for number in range(200)]
        for number, channel in enumerate(channels):
            channel.send(f"to {number}")
        for number, channel in enumerate(channels):
            assert channel.receive() == f"to {number}"


@pytest.mark.parametrize("kind", SETTABLE)
def test_unordered_and_unreliable_channels(meet, kind):
    """The other side is told how a channel is to be, whoever makes it; on a line that loses nothing, all arrives."""
    with meet(kind) as (roost, peer):
        roost.create("first")
        connect(roost, peer)
        for maker, other, side in ((roost, peer, "ours"), (peer, roost, "theirs")):
            made = [(maker.create(f"{name}, {side}", **options), options) for name, options in OPTIONS.items()]
            for channel, options in made:
                told = other.channel(channel.label).wait_open()
                assert told.options == PLAIN | options, channel.label
                for sender, receiver in ((channel.wait_open(), told), (told, channel)):
                    for number in range(20):
                        sender.send(f"{number}")
                    assert {receiver.receive() for _ in range(20)} == {f"{number}" for number in range(20)}


@pytest.mark.parametrize("kind", SETTABLE)
def test_channels_that_both_sides_make(meet, kind):
    with meet(kind) as (roost, peer):
        ours = roost.create("same", negotiated=True, id=10)
        theirs = peer.create("same", negotiated=True, id=10)
        connect(roost, peer)
        talk(ours.wait_open(), theirs.wait_open())


@pytest.mark.parametrize("roost_offers", [True, False], ids=["offers", "answers"])
def test_data_beside_media_from_the_beginning(meet, roost_offers):
    with meet("libdatachannel") as (roost, peer):
        offerer, answerer = (roost, peer) if roost_offers else (peer, roost)
        if roost_offers:
            roost.say(action="addAudio")
        else:
            peer.add_audio()
        ours = offerer.create("chat")
        connect(offerer, answerer)
        talk(ours.wait_open(), answerer.channel("chat").wait_open())


@pytest.mark.parametrize("kind", EXTENSIBLE)
def test_data_beside_media_and_data_added_to_a_call(meet, kind):
    with meet(kind) as (roost, peer):
        roost.say(action="addAudio")
        connect(roost, peer)
        roost.wait_state("connected")
        ours = roost.create("late")
        connect(roost, peer)
        talk(ours.wait_open(), peer.channel("late").wait_open())


@pytest.mark.parametrize("kind", [kind for kind in EXTENSIBLE if kind != "pion"])
def test_a_peers_call_gets_data_later(meet, kind):
    with meet(kind) as (roost, peer):
        peer.add_audio()
        connect(peer, roost)
        roost.wait_state("connected")
        theirs = peer.create("late")
        connect(peer, roost)
        talk(theirs.wait_open(), roost.channel("late").wait_open())


@pytest.mark.parametrize("kind", ALL)
def test_the_end_of_the_connection_closes_its_channels(meet, kind):
    with meet(kind) as (roost, peer):
        roost.create("chat")
        connect(roost, peer)
        theirs = peer.channel("chat").wait_open()
        roost.say(action="quit")
        theirs.wait_closed()
        wait_until(lambda: roost.process.poll() is not None, "the program ends")
