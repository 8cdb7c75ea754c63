"""`roost join` in rooms of `roost serve`, with LiveKit's Python SDK as the other participant."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys

import pytest

from peers.livekit_room import KEY, SECRET, token
from peers.livekit_service import call
from peers.roost_join import joined, recordings, wait_for_file
from peers.roost_peer import find_roost, read_counters, read_tones
from support.evidence import MEDIA, Evidence
from support.process import JSONProcess
from support.waiting import PATIENCE, wait_until

# Run inside the namespace: passes bytes on between clients and the server, and cuts all connections at once when a line
# comes on standard input.
PROXY = """
import asyncio, json, sys

connections = set()

async def serve(reader, writer):
    there_reader, there_writer = await asyncio.open_connection(sys.argv[1], int(sys.argv[2]))
    pair = {writer, there_writer}
    connections.update(pair)

    async def pass_on(source, sink):
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        for end in pair:
            end.close()

    await asyncio.gather(pass_on(reader, there_writer), pass_on(there_reader, writer))
    connections.difference_update(pair)

async def main():
    server = await asyncio.start_server(serve, sys.argv[1], 0)
    print(json.dumps({"event": "listening", "port": server.sockets[0].getsockname()[1]}), flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():
        cut = list(connections)
        for writer in cut:
            writer.transport.abort()
        print(json.dumps({"event": "cut", "connections": len(cut)}), flush=True)

asyncio.run(main())
"""


@pytest.fixture
def join(sfu, room):
    yield from joined(sfu, room)


def test_what_the_sdk_publishes_is_recorded(sfu, room, join, tmp_path):
    ann = sfu.join(room, "ann")
    ann.publish(hertz=880)
    bob = join("bob", "--record", tmp_path)
    assert bob.wait_for("joined")["others"] == ["ann"]
    for name in ("camera", "microphone"):
        bob.wait_for("track_subscribed", participant="ann", name=name)
    wait_until(lambda: len(recordings(tmp_path)) == 2, "both tracks are in the index")
    # Files grow while they are recorded.
    sound, pictures = (tmp_path / recordings(tmp_path)[source]["file"] for source in ("microphone", "camera"))
    wait_until(lambda: sound.stat().st_size > 15_000, lambda: f"enough is recorded\n{bob.transcript()}")
    # A publisher that begins with smaller pictures than it has announced is given three seconds.
    wait_until(lambda: len(read_counters(pictures)) >= 45, lambda: f"enough is recorded\n{bob.transcript()}")
    bob.send(signal.SIGTERM)
    assert bob.wait() == 0
    ann.wait_for("gone", who="bob")
    found = recordings(tmp_path)
    assert {one["participant"] for one in found.values()} == {"ann"}
    assert found["camera"]["codec"].upper() == "VIDEO/VP8" and found["camera"]["file"].endswith(".webm")
    # Written without what comes along of earlier packets.
    assert found["microphone"]["codec"] == "audio/opus"
    assert all(one["complete"] and one["track"].startswith("TR_") for one in found.values())
    evidence = Evidence(
        "the recording", counters=read_counters(tmp_path / found["camera"]["file"]),
        hertz=read_tones(tmp_path / found["microphone"]["file"])[1:])
    evidence.check_picture(least=30)
    evidence.check_sound([880], 1.5)


def test_a_recording_of_layers_has_the_size_that_was_announced(sfu, room, join, tmp_path):
    """Who publishes layers begins with the smallest, and what converts a file keeps to the size that it begins with.

    A size that the publisher's first estimate nearly carries: on a busy machine a larger one can take more than the
    three seconds that it is given.
    """
    ann, bob = sfu.join(room, "ann"), join("bob", "--record", tmp_path)
    bob.wait_for("joined")
    ann.publish(width=640, height=360, simulcast=True)
    wait_until(lambda: "camera" in recordings(tmp_path), "the picture is in the index")
    pictures = tmp_path / recordings(tmp_path)["camera"]["file"]
    wait_until(lambda: len(read_counters(pictures)) >= 30, lambda: f"enough is recorded\n{bob.transcript()}")
    bob.send(signal.SIGTERM)
    assert bob.wait() == 0
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0", pictures],
        capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["640,360"]


@pytest.mark.parametrize("mode", [(), ("--dual",)], ids=["single", "dual"])
def test_the_sdk_sees_and_hears_a_file(sfu, room, join, mode):
    ann = sfu.join(room, "ann", *mode)
    bob = join("bob", "--publish", MEDIA / "webRtcTestVideo.ivf", "--publish", MEDIA / "webRtcTestVideo.ogg")
    bob.wait_for("local_track_published")
    for codec in ("video/VP8", "audio/opus"):
        ann.wait_for("subscribed", who="bob", name="webRtcTestVideo", codec=codec)
    evidence = wait_for_file(ann)
    evidence.check()


def test_a_picture_that_nobody_takes_waits(sfu, room, join):
    bob = join("bob", "--publish", MEDIA / "webRtcTestVideo.ivf", "--dynacast")
    # The server gives a new track ten seconds.
    assert bob.wait_for("local_track_wanted")["quality"] == "off"
    ann = sfu.join(room, "ann")
    bob.wait_for("local_track_wanted", quality="high")
    ann.wait_for_picture(30, "webRtcTestVideo")
    ann.check_picture(30, "webRtcTestVideo")


def test_the_codec_of_a_file_is_the_one_that_is_sent(sfu, room, join):
    ann = sfu.join(room, "ann")
    join("bob", "--publish", MEDIA / "webRtcTestVideo.mp4")
    ann.wait_for("subscribed", who="bob", name="webRtcTestVideo", codec="video/H264")
    ann.check_picture(name="webRtcTestVideo")


def test_data_both_ways(sfu, room, join):
    ann, eve = sfu.join(room, "ann"), sfu.join(room, "eve")
    bob = join("bob", "--data", "here I am", "--topic", "greeting")
    for listener in (ann, eve):
        assert listener.wait_for("data", text="here I am")["topic"] == "greeting"
    ann.do("send", text="for bob", to=["bob"], topic="answer")
    bob.wait_for("data_received", text="for bob", participant="ann", topic="answer", reliable=True)
    ann.do("send", text="lossy", reliable=False)
    bob.wait_for("data_received", text="lossy", reliable=False)
    bob.tell({"do": "data", "text": "for ann", "to": ["ann"]})
    ann.wait_for("data", text="for ann", who="bob")
    bob.tell({"do": "data", "text": "for all", "reliable": False})
    eve.wait_for("data", text="for all", who="bob")
    assert not any(line.get("text") == "for ann" for line in eve.process.events)


def test_methods_are_called_both_ways(sfu, room, join):
    ann, bob = sfu.join(room, "ann"), join("bob")
    bob.wait_for("participant_connected", participant="ann")
    bob.tell({"do": "rpc", "method": "shout", "payload": "hello", "to": ["ann"]})
    assert bob.wait_for("rpc_answered", method="shout")["payload"] == "HELLO"
    bob.tell({"do": "rpc", "method": "shout", "payload": "fail", "to": ["ann"]})
    bob.wait_for("rpc_failed", code=1234, reason="as you like")
    bob.tell({"do": "rpc", "method": "whisper", "to": ["ann"]})
    bob.wait_for("rpc_failed", code=1400)
    bob.tell({"do": "rpc", "method": "shout", "to": ["nobody"]})
    bob.wait_for("rpc_failed", code=1401)

    ann.wait_for("connected", who="bob")
    bob.tell({"do": "register", "method": "shout"})
    # Commands are done in order: what follows is heard when the method is there.
    bob.tell({"do": "data", "text": "ready"})
    ann.wait_for("data", text="ready")
    ann.do("call", who="bob", payload="ping")
    call = bob.wait_for("rpc_called", payload="ping")
    assert (call["participant"], call["method"]) == ("ann", "shout")
    bob.tell({"do": "answer", "id": call["id"], "payload": "pong"})
    ann.wait_for("answer", answer="pong")
    ann.do("call", who="bob", payload="trouble")
    bob.tell({"do": "answer", "id": bob.wait_for("rpc_called", payload="trouble")["id"], "code": 7, "message": "no"})
    ann.wait_for("answer", code=7, message="no")


def test_muting_is_seen_both_ways(sfu, room, join):
    ann = sfu.join(room, "ann")
    bob = join("bob", "--publish", MEDIA / "webRtcTestVideo.ivf")
    ann.wait_for_picture(15, "webRtcTestVideo")
    bob.tell({"do": "mute", "track": "camera"})
    ann.wait_for("muted", who="bob", name="webRtcTestVideo")
    ann.wait_until_still("webRtcTestVideo")
    bob.tell({"do": "unmute", "track": "camera"})
    ann.wait_for("unmuted", who="bob", name="webRtcTestVideo")
    ann.report("webRtcTestVideo", fresh=True)
    ann.check_picture(30, "webRtcTestVideo")

    ann.do("publish_video")
    bob.wait_for("track_subscribed", participant="ann", name="camera")
    ann.do("mute", name="camera")
    bob.wait_for("track_muted", participant="ann", name="camera")
    ann.do("unmute", name="camera")
    bob.wait_for("track_unmuted", participant="ann", name="camera")


def test_a_track_that_is_withdrawn_goes_away(sfu, room, join):
    ann = sfu.join(room, "ann")
    bob = join("bob", "--publish", MEDIA / "webRtcTestVideo.ivf")
    ann.wait_for_picture(15, "webRtcTestVideo")
    bob.tell({"do": "unpublish", "track": "camera"})
    ann.wait_for("unpublished", who="bob", name="webRtcTestVideo")
    ann.do("publish_video")
    bob.wait_for("track_subscribed", name="camera")
    ann.do("unpublish", name="camera")
    bob.wait_for("track_unsubscribed", name="camera")
    bob.wait_for("track_unpublished", name="camera")


@pytest.fixture
def proxy(sfu):
    command = sfu.namespace.command(sys.executable, "-c", PROXY, sfu.namespace.address, sfu.port)
    process = JSONProcess("proxy", command, stdin=subprocess.PIPE)
    process.url = f"ws://{sfu.namespace.address}:{process.wait_for('listening')['port']}"
    yield process
    process.kill()
    process.finish()


def test_the_session_goes_on_when_its_signaling_is_cut(sfu, room, join, proxy, tmp_path):
    ann = sfu.join(room, "ann")
    ann.publish()
    bob = join("bob", "--publish", MEDIA / "webRtcTestVideo.ivf", "--record", tmp_path, url=proxy.url)
    ann.wait_for_picture(15, "webRtcTestVideo")
    bob.wait_for("track_subscribed", name="camera")
    proxy.tell("cut")
    assert proxy.wait_for("cut")["connections"] > 0
    bob.wait_for("reconnecting")
    bob.wait_for("reconnected")
    # The same session: nobody was gone, and no track was taken back.
    ann.report("webRtcTestVideo", fresh=True)
    ann.check_picture(30, "webRtcTestVideo")
    bob.tell({"do": "data", "text": "I am back"})
    ann.wait_for("data", text="I am back", who="bob")
    assert not any(line["event"] == "gone" for line in ann.process.events)
    assert not any(line["event"] == "track_unsubscribed" for line in bob.events)


def test_everything_is_published_again_in_a_new_session(sfu, room, join):
    ann = sfu.join(room, "ann")
    ann.publish()
    bob = join("bob", "--publish", MEDIA / "webRtcTestVideo.ivf")
    ann.wait_for_picture(15, "webRtcTestVideo")
    first = bob.wait_for("local_track_published")["track"]
    bob.wait_for("track_subscribed", name="camera")
    bob.tell({"do": "simulate", "scenario": "full_reconnect"})
    bob.wait_for("reconnected")
    ann.wait_for("gone", who="bob")
    wait_until(
        lambda: bob.last("local_track_published")["track"] != first, "the file is published again under another name")
    wait_until(
        lambda: sum(line["event"] == "track_subscribed" and line["name"] == "camera" for line in bob.events) == 2,
        "what ann publishes is received again")
    ann.report("webRtcTestVideo", fresh=True)
    ann.check_picture(30, "webRtcTestVideo", stalls=1)


def test_whoever_is_removed_is_told_and_ends(sfu, room, join):
    ann, bob = sfu.join(room, "ann"), join("bob")
    assert call(sfu, "room", "remove_participant", "RoomParticipantIdentity", room=room, identity="bob") == {"answer": {}}
    assert bob.wait_for("disconnected")["reason"] == "participant_removed"
    assert bob.wait() == 1
    assert "roost: We were removed from the room.\n" in bob.text
    ann.wait_for("gone", who="bob")


def test_who_may_not_publish_is_told_and_stays(sfu, room, join):
    ann = sfu.join(room, "ann")
    bob = join("bob", "--publish", MEDIA / "webRtcTestVideo.ivf", can_publish=False, can_publish_data=True)
    assert "not_allowed" in bob.wait_for("not_published")["message"]
    bob.tell({"do": "data", "text": "still here"})
    ann.wait_for("data", text="still here")


def test_a_command_that_makes_no_sense_is_answered_with_why(room, join):
    bob, ann = join("bob"), join("ann")
    for line, reason in [
        ({"do": "nope"}, 'what it says to "do" is none'),
        ({"text": "hello"}, '"do" is missing'),
        ([1], "it is no object of JSON"),
        ({"do": "rpc", "method": "shout", "to": 7}, '"to" is not what it can be'),
    ]:
        bob.tell(line)
        bob.wait_for("command_refused", reason=reason)
    for line, reason in [
        ({"do": "data"}, '"text" is missing'),
        ({"do": "rpc", "method": "shout", "to": ["ann", "bob"]}, '"to" is to name one participant'),
    ]:
        bob.tell(line)
        bob.wait_for("command_failed", do=line["do"], reason=reason)
    # One may be named without a list.
    bob.wait_for("participant_connected", participant="ann")
    bob.tell({"do": "data", "text": "for ann", "to": "ann"})
    ann.wait_for("data_received", text="for ann", participant="bob")


def test_it_makes_its_own_token(sfu, room):
    command = sfu.namespace.command(
        find_roost(), "join", "--url", sfu.url, "--key", f"{KEY}:{SECRET}", "--room", room, "--as", "bot", "--json",
        "--duration", "500ms")
    bot = JSONProcess("roost join", command)
    assert bot.wait_for("joined")["room"] == room
    assert bot.wait() == 0
    bot.wait_for("left")
    bot.finish()


def test_a_token_that_is_not_good_is_refused(sfu, room):
    command = sfu.namespace.command(
        find_roost(), "join", "--url", sfu.url, "--key", f"{KEY}:another secret altogether, and long enough",
        "--room", room, "--as", "bot")
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    # And with the server's own words.
    assert done.stderr.startswith("roost: The server does not take this token (status 401): "), done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.endswith(".\n"), done.stderr


def test_a_server_that_is_not_there_is_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = subprocess.run(
        [find_roost(), "join", "--url", f"ws://127.0.0.1:{port}", "--livekit-dev", "--room", "r", "--as", "bot"],
        capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert done.stderr == f"roost: There is no connection to the server: connection refused by 127.0.0.1:{port}.\n"


def test_the_path_of_a_url_is_kept_and_a_query_refused():
    """As LiveKit's SDKs do, for servers behind a proxy that has other things, too."""
    def join(url):
        command = [find_roost(), "join", "--url", url, "--livekit-dev", "--room", "r", "--as", "bot"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        url = f"ws://127.0.0.1:{server.getsockname()[1]}"
        for path, asked in [("", "/rtc"), ("/", "/rtc"), ("/meet", "/meet/rtc"), ("/a/meet/", "/a/meet/rtc")]:
            process = join(url + path)
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as lines:
                assert lines.readline().decode().startswith(f"GET {asked}?protocol=")
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                _, said = process.communicate(timeout=PATIENCE)
            assert process.returncode == 1 and "404" in said
        process = join(url + "/meet?key=1")
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert said == f'roost: "{url}/meet?key=1" has a query, which the URL of a server goes without.\n'


def test_what_others_write_does_not_command_the_terminal(sfu, room):
    ann = sfu.join(room, "ann")
    command = sfu.namespace.command(find_roost(), "join", "--url", sfu.url, "--token", token(room, "bob"))
    bob = JSONProcess("roost join", command)
    try:
        ann.wait_for("connected", who="bob")
        ann.do("send", text="\x1b]0;mine\x07 \u202etxt\x9b\x7f\u2028\u2066\nJürgen 日本 the end")
        wait_until(lambda: any("the end" in line for line in bob.text), "the message is shown")
        line = next(line for line in bob.text if "the end" in line)
        assert line.endswith(
            r"ann: \u{1b}]0;mine\u{7} \u{202e}txt\u{9b}\u{7f}\u{2028}\u{2066}\u{a}Jürgen 日本 the end" + "\n")
        bob.send(signal.SIGTERM)
        assert bob.wait() == 0
    finally:
        bob.finish()


def test_a_recording_that_cannot_be_written_is_told_and_is_no_success(sfu, room, tmp_path):
    """A full disk, here a limit on the size of files."""
    limit = 20_000
    ann = sfu.join(room, "ann")
    ann.publish()
    command = sfu.namespace.command(
        find_roost(), "join", "--url", sfu.url, "--token", token(room, "bob"), "--json", "--record", tmp_path)
    bob = JSONProcess(
        "roost join", command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    try:
        assert "The file cannot be written." in bob.wait_for("notice")["message"]
        bob.send(signal.SIGTERM)
        assert bob.wait() == 1
        end = bob.wait_for("error")["message"]
        assert end.startswith("The recording is not complete. ann's ")
        assert end.endswith(" is not recorded: The file cannot be written.")
        assert bob.last("recorded") is None
    finally:
        bob.finish()


@pytest.mark.parametrize("options, missing", [
    ((), "Who joins which room? Give --token, or --room and --as with an API key."),
    (("--room", "r", "--as", "bot"), "There is no API key to make a token with: give --key or --livekit-dev, or set "
                                     "LIVEKIT_API_KEY and LIVEKIT_API_SECRET in the environment."),
])
def test_without_a_token_or_a_key_it_says_what_is_missing(options, missing):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIVEKIT_")}
    done = subprocess.run(
        [find_roost(), "join", *options], capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert (done.returncode, done.stderr) == (64, f"roost: {missing}\n")


@pytest.mark.parametrize("options", [
    ("--token", "t", "--room", "r", "--as", "a"), ("--livekit-dev",), ("--livekit-dev", "--room", "r"),
    ("--key", "nocolon", "--room", "r", "--as", "a"), ("--token", "t", "--wait", "0s"), ("--token", "t", "--topic", "x"),
])
def test_a_command_line_that_makes_no_sense_is_64(options):
    done = subprocess.run([find_roost(), "join", *options], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 64, done
