"""GStreamer's webrtcbin and the programs of Examples: pictures and sound of either side, decoded, and data."""

import pytest

from peers.data_peer import GStreamerPeer, RoostPeer
from peers.examples import Example, find_example
from support.evidence import MEDIA, TONES, Evidence
from support.waiting import wait_until
from test_data_channels import talk

DATA = ["Grüße 👋", b"\x00\x01\xff", "x" * 1200, bytes(range(256)) * 40]
CODECS = {"VP8": MEDIA / "webRtcTestVideo.ivf", "H264": MEDIA / "webRtcTestVideo.mp4"}
# Of which there is no file that we read.
H265 = "H265"


@pytest.fixture
def gstreamer(namespace):
    peers = []

    def start(codec=None):
        peers.append(GStreamerPeer(namespace, codec))
        return peers[-1]

    yield start
    for peer in peers:
        peer.close()
        print(peer.transcript())


@pytest.fixture
def example(namespace):
    started = []

    def start(name, *arguments):
        started.append(Example(namespace, name, *arguments))
        return started[-1]

    yield start
    for program in started:
        program.finish()
        print(program.transcript())


def wait_for_media(peer, least, tones):
    """Pictures of which most differ, and the tones, as the peer decodes them."""
    def told():
        return [peer.heard(event)[-3:] for event in ("state", "picture", "tone", "error")]

    wait_until(
        lambda: any(line["different"] >= least for line in peer.heard("picture")),
        lambda: f"{least} different pictures: {told()}")
    wait_until(
        lambda: sum(line["hertz"] is not None for line in peer.heard("tone")) > 4, lambda: f"enough sound: {told()}")
    last = peer.heard("picture")[-1]
    assert last["different"] >= 0.5 * last["count"], last
    # A band of its spectrum is 20 Hz wide.
    Evidence("GStreamer", hertz=[line["hertz"] for line in peer.heard("tone")]).check_sound(tones, tolerance=30)


@pytest.mark.parametrize("codec", [*CODECS, H265])
def test_what_gstreamer_sends_comes_back(gstreamer, example, codec):
    peer, echo = gstreamer(codec), example("echo", *["--h265"] if codec == H265 else [])
    kind, sdp = peer.offer()
    echo.tell({"type": kind, "sdp": sdp})
    answer = echo.description("answer")["sdp"]
    assert f" {codec}/90000" in answer
    peer.accept(("answer", answer))
    wait_for_media(peer, 45, [440])


@pytest.mark.parametrize("codec", CODECS)
def test_gstreamer_plays_files(gstreamer, example, codec):
    peer, player = gstreamer(), example("play-from-disk", CODECS[codec], MEDIA / "webRtcTestVideo.ogg")
    offer = player.description("offer")
    assert "rtx/90000" in offer["sdp"]
    player.tell({"type": "answer", "sdp": peer.answer((offer["type"], offer["sdp"]))[1]})
    wait_for_media(peer, 45, TONES)
    assert player.end() == 0


@pytest.mark.parametrize("gstreamer_offers", [True, False], ids=["offers", "answers"])
def test_data_both_ways(gstreamer, namespace, gstreamer_offers):
    """Without empty messages and those of 256 KiB, with which webrtcbin 1.22 fails by itself."""
    peer, roost = gstreamer(), RoostPeer(find_example("data-channel-chat"), namespace)
    try:
        offerer, answerer = (peer, roost) if gstreamer_offers else (roost, peer)
        ours = offerer.create("chat")
        offerer.accept(answerer.answer(offerer.offer()))
        talk(ours.wait_open(), answerer.channel("chat").wait_open(), DATA)
        # And one that the answerer opens, on the other parity of streams.
        back = answerer.create("back").wait_open()
        talk(back, offerer.channel("back").wait_open(), DATA)
        back.close()
        offerer.channel("back").wait_closed()
    except BaseException as error:
        error.add_note(roost.transcript())
        raise
    finally:
        roost.close()
