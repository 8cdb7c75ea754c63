"""Streams of data between `roost join`, which is `LiveKitClient`, and LiveKit's Python SDK."""

import json

import pytest

from peers.livekit_service import call
from peers.livekit_streams import bytes_of, digest, text_of
from peers.roost_join import joined


@pytest.fixture
def join(sfu, room):
    yield from joined(sfu, room)


def reads(bob, ann, **command):
    """Bob reads from now on: commands are done in order, and what follows is heard when this one is."""
    bob.tell(command)
    word = f"reads {command['topic']}"
    bob.tell({"do": "data", "text": word})
    ann.wait_for("data", text=word)


def read_text(peer, participant):
    """The first text that has come whole from somebody, and what was said with it."""
    end = peer.wait_for("text_stream_ended", participant=participant)
    pieces = [line["text"] for line in peer.events if line["event"] == "text_stream_piece" and line["id"] == end["id"]]
    return "".join(pieces), end


# Short ones are said at once, long ones in chunks; the SDK packs both.
@pytest.mark.parametrize("count", [5, 2_000, 200_000])
def test_a_text_of_the_sdk_is_read(sfu, room, join, count):
    ann, bob = sfu.join(room, "ann"), join("bob")
    ann.wait_for("connected", who="bob")
    reads(bob, ann, do="read_text", topic="notes")
    ann.do("send_text", seed=1, count=count, to=["bob"], attributes={"colour": "red"})
    text, end = read_text(bob, "ann")
    assert text == text_of(1, count)
    assert end["attributes"] == {"colour": "red"} and end["topic"] == "notes"


def test_a_text_is_read_while_the_sdk_writes_it(sfu, room, join):
    ann, bob = sfu.join(room, "ann"), join("bob")
    ann.wait_for("connected", who="bob")
    reads(bob, ann, do="read_text", topic="notes")
    ann.do("stream_text", seed=2, count=50_000, pieces=7)
    text, _ = read_text(bob, "ann")
    assert text == text_of(2, 50_000)
    # One that does not end.
    reads(bob, ann, do="read_text", topic="lk.transcription")
    ann.do("transcribe", pieces=["as it ", "is said"], of="ann", segment="s", is_over=False)
    bob.wait_for("text_stream_began", topic="lk.transcription", attributes={"lk.segment_id": "s"})
    bob.wait_for("text_stream_piece", topic="lk.transcription")


@pytest.mark.parametrize("count", [0, 100, 400_000])
def test_bytes_of_the_sdk_become_a_file(sfu, room, join, tmp_path, count):
    ann, bob = sfu.join(room, "ann"), join("bob")
    ann.wait_for("connected", who="bob")
    reads(bob, ann, do="read_files", topic="files", folder=str(tmp_path / "received"))
    # Nobody's name of a file leads out of the folder, or takes the place of another.
    for number, name in enumerate(["../a:b.bin", "../a:b.bin"]):
        ann.do("send_bytes", seed=number, count=count, name=name, type="application/x-test")
        line = bob.wait_for("file_received", file=str(tmp_path / "received" / ["a_b.bin", "1-a_b.bin"][number]))
        assert (line["name"], line["type"], line["bytes"]) == (name, "application/x-test", count)
        assert open(line["file"], "rb").read() == bytes_of(number, count)


@pytest.mark.parametrize("count", [5, 2_000, 200_000])
def test_the_sdk_reads_a_text(sfu, room, join, count):
    ann, eve, bob = sfu.join(room, "ann"), sfu.join(room, "eve"), join("bob")
    for peer in (ann, eve):
        peer.wait_for("connected", who="bob")
    text = text_of(3, count)
    bob.tell({"do": "send_text", "topic": "notes", "text": text, "to": ["ann"], "attributes": {"colour": "blue"}})
    line = ann.wait_for("text stream", who="bob")
    assert (line["count"], line["digest"]) == (len(text), digest(text))
    assert line["attributes"] == {"colour": "blue"} and line["topic"] == "notes"
    bob.wait_for("stream_sent", topic="notes")
    bob.tell({"do": "send_text", "topic": "lk.chat", "text": "for all"})
    for peer in (ann, eve):
        assert peer.wait_for("text", who="bob")["text"] == "for all"
    assert not any(line.get("event") == "text stream" for line in eve.process.events)


@pytest.mark.parametrize("count", [0, 100, 3_000_000])
def test_the_sdk_reads_a_file(sfu, room, join, tmp_path, count):
    ann, bob = sfu.join(room, "ann"), join("bob")
    ann.wait_for("connected", who="bob")
    file = tmp_path / "report.bin"
    file.write_bytes(bytes_of(4, count))
    bob.tell({"do": "send_file", "topic": "files", "file": str(file), "type": "application/x-test"})
    line = ann.wait_for("byte stream", who="bob")
    assert (line["name"], line["type"], line["count"]) == ("report.bin", "application/x-test", count)
    assert line["digest"] == digest(bytes_of(4, count)) and line["size"] == count


def test_a_file_that_is_not_there_is_said_to_be(sfu, room, join, tmp_path):
    bob = join("bob")
    bob.tell({"do": "send_file", "topic": "files", "file": str(tmp_path / "nothing")})
    assert "cannot be read" in bob.wait_for("command_failed", do="send_file")["reason"]
    # What is no file has no length, and some such have no end.
    bob.tell({"do": "send_file", "topic": "files", "file": "/dev/zero"})
    bob.tell({"do": "data", "text": "still here"})
    bob.wait_for("command_failed", do="send_file", reason="The file cannot be read: it is no file.")


def test_a_stream_of_who_leaves_breaks_off(sfu, room, join):
    ann, bob = sfu.join(room, "ann"), join("bob")
    ann.wait_for("connected", who="bob")
    reads(bob, ann, do="read_text", topic="notes")
    ann.do("begin", count=1, topic="notes")
    bob.wait_for("text_stream_began", participant="ann")
    call(sfu, "room", "remove_participant", "RoomParticipantIdentity", room=room, identity="ann")
    assert "left" in bob.wait_for("stream_failed", participant="ann")["reason"]


def test_calls_and_answers_that_no_message_would_take(sfu, room, join):
    """The SDK's version 2: both go as streams, in both directions."""
    ann, bob = sfu.join(room, "ann"), join("bob")
    bob.wait_for("participant_connected", participant="ann")
    long = text_of(5, 15_000)
    bob.tell({"do": "rpc", "method": "shout", "payload": long, "to": ["ann"]})
    assert bob.wait_for("rpc_answered", method="shout")["payload"] == long.upper()
    ann.wait_for("connected", who="bob")
    bob.tell({"do": "register", "method": "shout"})
    bob.tell({"do": "data", "text": "ready"})
    ann.wait_for("data", text="ready")
    ann.do("call", who="bob", payload=long)
    called = bob.wait_for("rpc_called", participant="ann")
    assert called["payload"] == long
    bob.tell({"do": "answer", "id": called["id"], "payload": long + "!"})
    assert ann.wait_for("answer")["answer"] == long + "!"


def test_two_of_ours_send_each_other_what_they_like(sfu, room, join, tmp_path):
    """What goes in one piece between them comes in one."""
    bob, eve = join("bob"), join("eve")
    bob.wait_for("participant_connected", participant="eve")
    eve.tell({"do": "read_text", "topic": "notes"})
    eve.tell({"do": "read_files", "topic": "files", "folder": "/proc/nowhere"})
    eve.wait_for(
        "command_failed", do="read_files", reason="the folder /proc/nowhere cannot be made: No such file or directory")
    eve.tell({"do": "read_files", "topic": "files", "folder": str(tmp_path)})
    eve.tell({"do": "data", "text": "ready"})
    bob.wait_for("data_received", text="ready")
    text = json.dumps({"numbers": list(range(20_000))})
    bob.tell({"do": "send_text", "topic": "notes", "text": text})
    assert read_text(eve, "bob")[0] == text
    file = tmp_path / "sent.bin"
    file.write_bytes(bytes_of(6, 20_000_000))
    bob.tell({"do": "send_file", "topic": "files", "file": str(file)})
    line = eve.wait_for("file_received", participant="bob")
    # It lies beside what was sent.
    assert line["file"] == str(tmp_path / "1-sent.bin")
    assert digest((tmp_path / "1-sent.bin").read_bytes()) == digest(bytes_of(6, 20_000_000))
