"""`roost call` that comes to nothing: each failure is a sentence and a status. Wrong servers, names, rooms and files;
nobody who comes.
"""

import http.server
import socket
import threading

import pytest
import socketio

from support.command import call_arguments, fails, listening
from support.evidence import MEDIA

VIDEO, SOUND = MEDIA / "webRtcTestVideo.mp4", MEDIA / "webRtcTestVideo.ogg"


@pytest.fixture(scope="module")
def closed_port():
    """A port on which nobody listens, for as long as the tests run: bound and not listening."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


# Servers


@pytest.mark.parametrize(
    "server, says",
    [
        ("localhost:3000", "localhost:3000 is not the address of a signaling server; one looks like http://"),
        ("", "is not the address of a signaling server"),
        ("ftp://localhost", "is not the address of a signaling server"),
        ("http://", "is not the address of a signaling server"),
        ("http://localhost:99999", "is not the address of a signaling server"),
        ("http://[::1", "is not the address of a signaling server"),
        ("http://nowhere.invalid:3000", "cannot be reached: .*nowhere.invalid is not known"),
    ],
)
def test_an_address_that_is_none(server, says):
    fails(*call_arguments(server), says=says)


def test_nobody_listens(closed_port):
    fails(*call_arguments(f"http://127.0.0.1:{closed_port}"), says=f"connection refused by 127.0.0.1:{closed_port}")
    fails(*call_arguments(f"https://127.0.0.1:{closed_port}/"), says=f"connection refused by 127.0.0.1:{closed_port}")


def test_a_server_without_tls_is_called_by_https(server):
    fails(*call_arguments(server.url.replace("http:", "https:")), says="does not seem to speak TLS")


def test_a_path_is_a_namespace_that_the_server_does_not_have(server):
    fails(*call_arguments(server.url + "/chat"), says="the path of the URL, /chat, is taken as the namespace")


def test_a_web_server_that_knows_no_signaling():
    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        fails(*call_arguments(f"http://127.0.0.1:{web.server_port}"), says="HTTP 404")
        web.shutdown()


def test_a_web_server_that_answers_everything_with_a_page():
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<!doctype html><p>hello")

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        fails(*call_arguments(f"http://127.0.0.1:{web.server_port}"), says="Socket.IO|Engine.IO")
        web.shutdown()


def test_a_server_of_another_protocol():
    with listening(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")) as url:
        fails(*call_arguments(url), says="not HTTP")
    with listening(lambda connection: connection.close()) as url:
        fails(*call_arguments(url), says="closed the connection")


def test_a_server_that_never_answers():
    with listening(lambda connection: None) as url:
        fails(*call_arguments(url, 1, "Ann", "caller", "--wait", "500ms"), says="did not let us in within 0.5 s")


def test_ipv6_and_a_slash_at_the_end(roost):
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    server = roost.serve(host="::1")
    fails(*call_arguments(server.url + "/", 1, "Ann", "caller", "--wait", "700ms"), says="Nobody came into room 1")


# Names and rooms


@pytest.mark.parametrize(
    "name, says",
    [
        ("", "Please enter your name"),
        ("  ", "Please enter your name"),
        ("x" * 65, "at most 64 characters"),
        ("👨‍👩‍👧" * 20, "at most 64 characters"),
        ("An\nn", "one line"),
        ("\u202enna", "one line"),
    ],
)
def test_a_name_that_no_room_takes(server, name, says):
    fails(*call_arguments(server.url, 1, name), says=says)


def test_a_negative_room(server):
    fails(*call_arguments(server.url, -3, "Ann", "caller", "--wait", "700ms"), says="Nobody came into room -3")


def test_a_full_room_says_so(server, rooms, roost):
    room = next(rooms)
    crowd = []
    try:
        for number in range(50):
            client = socketio.Client(reconnection=False)
            client.connect(
                f"{server.url}?roomId={room}&username=guest{number}&isCaller=true", transports=["websocket"],
                wait_timeout=20,
            )
            crowd.append(client)
        fails(*call_arguments(server.url, room), says="refused the connection: the room is full: 50 people are in it")
    finally:
        for client in crowd:
            client.disconnect()


# Files


@pytest.mark.parametrize(
    "option, says",
    [
        (["--video", "/nowhere.mp4"], "/nowhere.mp4 cannot be read"),
        (["--video", "Makefile"], "Makefile is not an MP4, IVF, Ogg or WAV file"),
        (["--video", SOUND], "holds no video that can be sent"),
        (["--video", "Media"], "Media cannot be read"),
        (["--video", VIDEO, "--codec", "vp8"], "not coded in VP8"),
        (["--video", MEDIA / "webRtcTestVideo-vp9.ivf"], "vp9.ivf is coded in VP9; a call sends H.264 or VP8"),
        (["--video", MEDIA / "webRtcTestVideo-av1.ivf", "--codec", "h264"], "av1.ivf is coded in AV1; a call sends"),
        (["--audio", VIDEO], "holds no Opus sound"),
        (["--audio", MEDIA / "webRtcTestVideo-pcmu.wav"], "pcmu.wav holds PCMU sound; a call sends Opus"),
        (["--audio", "/nowhere.ogg"], "/nowhere.ogg cannot be read"),
        (["--record", ""], "--record wants the name of a folder"),
        (["--record", "Makefile"], "recordings"),
        (["--record", "Makefile/below"], "recordings cannot be made"),
        (["--record", "/proc/nowhere"], "recordings cannot be made"),
        (["--address", "here"], '"here" is not an IP address'),
        (["--stun", "nonsense"], "nonsense"),
    ],
)
def test_what_cannot_be_sent_or_recorded(server, rooms, option, says):
    fails(*call_arguments(server.url, next(rooms), "Ann", "caller", *option), says=says)


# Nobody


@pytest.mark.parametrize("role, other", [("caller", "callee"), ("callee", "caller")])
def test_nobody_comes(server, rooms, role, other):
    room = next(rooms)
    fails(
        *call_arguments(server.url, room, "Ann", role, "--wait", "700ms"),
        says=f"Nobody came into room {room} as {other} within 0.7 s",
    )


def test_two_callers_are_told_that_one_has_to_be_the_callee(server, rooms, roost):
    room = next(rooms)
    other = roost.call(server, room, "Cid", "caller")
    other.wait_for("room", message="Connected")
    fails(
        *call_arguments(server.url, room, "Ann", "caller", "--wait", "700ms"),
        says="Cid is a caller too: one of you has to be the callee",
    )
    other.wait_for("presence", message="No callee is in the room; Ann is a caller too")
