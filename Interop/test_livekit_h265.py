"""H.265 in rooms of `roost serve`: from a file and from GStreamer, to a file, to GStreamer, and to those who lack it."""

import signal
import subprocess

import pytest

from peers.exchange_peers import GStreamerExchange
from peers.livekit_room import Server, token
from peers.livekit_service import call
from peers.roost_join import joined, recordings
from peers.roost_peer import read_counters
from support.evidence import MEDIA, TONES, Evidence
from support.waiting import wait_until
from test_gstreamer import wait_for_media

FRAMES = 90
FILM, SOUND = MEDIA / "webRtcTestVideo-h265.mp4", MEDIA / "webRtcTestVideo.ogg"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def sfu(namespace, folder):
    server = Server(namespace, "--livekit-recordings", folder)
    yield server
    assert server.close() == 0


@pytest.fixture
def join(sfu, room):
    yield from joined(sfu, room)


@pytest.fixture
def gstreamer(sfu, room):
    """Starts GStreamer as who publishes to the room, or plays from it."""
    peers = []

    def start(path, codec):
        peers.append(GStreamerExchange(sfu, path, token(room, f"gstreamer {len(peers)}"), codec))
        return peers[-1]

    yield start
    for peer in peers:
        print(peer.transcript())
        peer.close()


def kind(path):
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name,codec_tag_string", "-of", "csv=p=0", path],
        capture_output=True, text=True, check=True)
    return shown.stdout.strip()


def unwound(counters):
    """Those of a film that is played again and again."""
    rounds, result = 0, []
    for before, counter in zip([None, *counters], counters):
        rounds += before is not None and counter is not None and counter < before
        result.append(None if counter is None else counter + rounds * FRAMES)
    return result


def test_a_file_is_published_and_recorded_by_a_client_and_by_the_server(sfu, room, join, folder, tmp_path):
    bob = join("bob", "--record", tmp_path)
    ann = join("ann", "--publish", FILM)
    camera = ann.wait_for("local_track_published")["track"]
    bob.wait_for("track_subscribed", participant="ann")
    begun = call(
        sfu, "egress", "start_track_egress", "TrackEgressRequest", room_name=room, track_id=camera,
        file={"filepath": "film"})["answer"]
    films = [folder / "film.mp4"]
    wait_until(lambda: recordings(tmp_path), lambda: f"a recording\n{bob.transcript()}")
    (entry,) = recordings(tmp_path).values()
    assert entry["codec"] == "video/H265"
    films.append(tmp_path / entry["file"])
    for film in films:
        wait_until(lambda: film.exists() and len(read_counters(film)) >= 60, lambda: f"{film}\n{bob.transcript()}")
    call(sfu, "egress", "stop_egress", "StopEgressRequest", egress_id=begun["egress_id"])
    bob.send(signal.SIGTERM)
    assert bob.wait() == 0
    for film in films:
        assert kind(film) == "hevc,hvc1"
        Evidence(str(film), counters=unwound(read_counters(film))).check_picture(least=45)


def test_gstreamer_publishes_and_plays_it(room, gstreamer, join, tmp_path):
    bob = join("bob", "--record", tmp_path)
    gstreamer("/whip", "H265")
    bob.wait_for("track_subscribed", kind="video")
    # A player that comes later begins with a key frame of its own.
    wait_for_media(gstreamer("/whep", "RECEIVE-H265"), 20, [440])
    bob.send(signal.SIGTERM)
    assert bob.wait() == 0
    film = next(one for one in recordings(tmp_path).values() if one["kind"] == "video")
    assert film["codec"] == "video/H265" and film["frames"] >= 30
    assert kind(tmp_path / film["file"]) == "hevc,hvc1"
    # Each decodes. Its encoder has its own counter: none.
    assert len(read_counters(tmp_path / film["file"])) >= film["frames"] - 1


def test_who_lacks_it_has_the_rest(sfu, room, join):
    """libwebrtc as LiveKit's SDK has it has no H.265."""
    bob = sfu.join(room, "bob")
    eve = join("eve")
    join("ann", "--publish", FILM, "--publish", SOUND)
    bob.wait_for("subscribed", who="ann", codec="audio/opus")
    eve.wait_for("track_subscribed", participant="ann", kind="video")
    name = SOUND.stem
    bob.wait_until(name, lambda report: len(report["hertz"]) >= 6, "three seconds of sound")
    Evidence("bob", hertz=bob.report(name)["hertz"][1:]).check_sound(TONES)
    assert not any(line.get("codec") == "video/H265" for line in bob.process.events)
    # And is told of what it cannot have.
    assert any(track.get("codec", "").endswith("H265") for track in tracks_of(sfu, room, "ann")), tracks_of(sfu, room, "ann")


def tracks_of(sfu, room, identity):
    answer = call(sfu, "room", "get_participant", "RoomParticipantIdentity", room=room, identity=identity)["answer"]
    return [{"codec": track.get("mime_type", "")} for track in answer["tracks"]]
