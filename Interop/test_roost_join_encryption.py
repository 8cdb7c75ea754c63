"""Encryption from end to end between `roost join`, which is `LiveKitClient`, and LiveKit's Python SDK."""

import os
import subprocess

import pytest

from peers.livekit_streams import bytes_of, digest, text_of
from peers.roost_join import joined, recordings, wait_for_file
from peers.roost_peer import find_roost, read_counters, read_tones
from support.evidence import MEDIA, Evidence
from support.waiting import wait_until

KEY, OTHER_KEY = "known to ann and bob", "known to eve alone"


@pytest.fixture
def join(sfu, room):
    yield from joined(sfu, room)


@pytest.mark.parametrize("codec", ["VP8", "H264", "VP9"])
def test_what_the_sdk_encrypts_is_recorded_by_who_has_the_key(sfu, room, join, tmp_path, codec):
    ann = sfu.join(room, "ann", "--key", KEY)
    ann.publish(codec, 880, width=320, height=180)
    bob = join("bob", "--e2ee-key", KEY, "--record", tmp_path / "bob")
    eve = join("eve", "--e2ee-key", OTHER_KEY, "--record", tmp_path / "eve")
    bob.wait_for("track_subscribed", participant="ann", name="camera", encrypted=True)
    wait_until(lambda: len(recordings(tmp_path / "bob")) == 2, lambda: f"both are in the index\n{bob.transcript()}")
    sound, pictures = (
        tmp_path / "bob" / recordings(tmp_path / "bob")[source]["file"] for source in ("microphone", "camera"))
    wait_until(lambda: len(read_counters(pictures)) >= 45, lambda: f"enough is recorded\n{bob.transcript()}")
    bob.tell({"do": "leave"})
    assert bob.wait() == 0
    evidence = Evidence("the recording", counters=read_counters(pictures), hertz=read_tones(sound)[1:])
    evidence.check_picture(least=30)
    evidence.check_sound([880], 1.5)
    # Who has another key writes nothing that is not what it seems: all that time it came to them, too.
    assert any(line["event"] == "track_subscribed" and line["name"] == "camera" for line in eve.events)
    assert recordings(tmp_path / "eve") == {}


@pytest.mark.parametrize("files", [("webRtcTestVideo.ivf", "webRtcTestVideo.ogg"), ("webRtcTestVideo.mp4",),
                                   ("webRtcTestVideo-vp9.ivf",)], ids=["VP8", "H264", "VP9"])
def test_the_sdk_sees_and_hears_what_we_encrypt(sfu, room, join, files):
    ann, eve = sfu.join(room, "ann", "--key", KEY), sfu.join(room, "eve", "--key", OTHER_KEY)
    options = [option for name in files for option in ("--publish", MEDIA / name)]
    join("bob", "--e2ee-key", KEY, *options)
    for peer in (ann, eve):
        peer.wait_for("subscribed", who="bob", encryption="GCM")
    name = files[0].rpartition(".")[0]
    ann.wait_for_picture(60, name)
    if len(files) > 1:
        wait_for_file(ann).check()
    wait_until(lambda: eve.traffic(name)["packets"] >= 45, eve.process.transcript)
    readable = [number for number in eve.report(name)["counters"] if number is not None]
    assert len(readable) <= 1


def test_messages_streams_and_calls_are_between_those_who_have_the_key(sfu, room, join, tmp_path):
    ann, eve = sfu.join(room, "ann", "--key", KEY), sfu.join(room, "eve", "--key", OTHER_KEY)
    bob = join("bob", "--e2ee-key", KEY)
    for peer in (ann, eve):
        peer.wait_for("connected", who="bob")
    bob.tell({"do": "read_text", "topic": "notes"})
    bob.tell({"do": "read_files", "topic": "files", "folder": str(tmp_path)})
    bob.tell({"do": "register", "method": "shout"})
    bob.tell({"do": "data", "text": "hello"})
    assert ann.wait_for("data", who="bob")["text"] == "hello"
    ann.do("send", text="hello bob", to=["bob"])
    bob.wait_for("data_received", text="hello bob", participant="ann")
    ann.do("send_text", seed=1, count=40_000, to=["bob"])
    end = bob.wait_for("text_stream_ended", participant="ann")
    pieces = [line["text"] for line in bob.events if line["event"] == "text_stream_piece" and line["id"] == end["id"]]
    assert "".join(pieces) == text_of(1, 40_000)
    ann.do("send_bytes", seed=2, count=50_000, name="secret", type="application/x-test", to=["bob"])
    assert digest((tmp_path / bob.wait_for("file_received")["file"]).read_bytes()) == digest(bytes_of(2, 50_000))
    bob.tell({"do": "send_text", "topic": "lk.chat", "text": "in a chat"})
    assert ann.wait_for("text", who="bob")["text"] == "in a chat"
    bob.tell({"do": "rpc", "method": "shout", "payload": "hi", "to": ["ann"]})
    assert bob.wait_for("rpc_answered")["payload"] == "HI"
    ann.do("call", who="bob", payload="ping")
    bob.tell({"do": "answer", "id": bob.wait_for("rpc_called")["id"], "payload": "pong"})
    ann.wait_for("answer", answer="pong")
    assert not any(line["event"] in ("data", "text") for line in eve.process.events)


def test_who_has_no_key_records_nothing_and_says_why(sfu, room, join, tmp_path):
    ann = sfu.join(room, "ann", "--key", KEY)
    ann.publish(hertz=880)
    bob = join("bob", "--record", tmp_path)
    bob.wait_for("track_subscribed", participant="ann", name="camera", encrypted=True)
    wait_until(lambda: any("encrypted" in line.get("message", "") for line in bob.events if line["event"] == "notice"),
               bob.transcript)
    assert recordings(tmp_path) == {}


def test_what_is_not_encrypted_is_not_taken_by_who_has_a_key(sfu, room, join, tmp_path):
    """The server says what is encrypted, and could make the rest itself."""
    ann = sfu.join(room, "ann")
    ann.publish(hertz=880)
    bob = join("bob", "--e2ee-key", KEY, "--record", tmp_path)
    bob.wait_for("track_subscribed", participant="ann", name="camera", encrypted=False)
    ann.wait_for("connected", who="bob")
    ann.do("send", text="anybody could have written this")
    dan = join("dan", "--record", tmp_path / "dan")
    wait_until(lambda: len(recordings(tmp_path / "dan")) == 2, dan.transcript)
    assert recordings(tmp_path) == {}
    assert not any(line["event"] == "data_received" for line in bob.events)


@pytest.mark.parametrize("options, environment", [(("--e2ee-key", ""), {}), ((), {"ROOST_E2EE_KEY": ""})])
def test_an_empty_password_is_none(options, environment):
    command = [find_roost(), "join", "--url", "ws://127.0.0.1:1", "--token", "x", *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 64 and "an empty one is none" in done.stderr
