"""What operators rely on: certificates that are renewed in mid-flight, readiness, an end that balancers notice and that
waits for rooms, what each thread of media has to do, logs as JSON, and what is counted of the chat."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import time

import pytest
from livekit import api

from peers.chat import Chat, done
from support.command import fails
from support.waiting import PATIENCE, wait_until


# Certificates


class Certificates:
    """A certificate and its key where a server looks for them, and others to put there."""

    def __init__(self, folder):
        self.folder = folder
        self.chain, self.key = folder / "certificate.pem", folder / "key.pem"

    def make(self, name):
        """The texts of a new one."""
        chain, key = self.folder / f"{name}.chain", self.folder / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-out", chain, "-keyout", key],
            check=True, capture_output=True)
        return chain.read_text(), key.read_text()

    def put(self, chain, key):
        """Each in one step, as who renews certificates does."""
        for path, text in ((self.key, key), (self.chain, chain)):
            new = path.with_suffix(".new")
            new.write_text(text)
            os.replace(new, path)

    @property
    def options(self):
        return "--tls-certificate", self.chain, "--tls-key", self.key


@pytest.fixture
def certificates(tmp_path):
    return Certificates(tmp_path)


def connected(port):
    """A connection over TLS that takes any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), PATIENCE))


def shown(port):
    """The certificate that who connects now is shown."""
    with connected(port) as connection:
        return connection.getpeercert(binary_form=True)


class KeptConnection(http.client.HTTPConnection):
    """One that is open as long as the server leaves it so."""

    def connect(self):
        assert self.sock is None, "the server has closed the connection"
        self.sock = connected(self.port)

    def asks(self, path="/health"):
        self.request("GET", path)
        answer = self.getresponse()
        return answer.status, answer.read().decode()


def der(chain):
    return ssl.PEM_cert_to_DER_cert(chain)


def expires(chain):
    text = subprocess.run(
        ["openssl", "x509", "-noout", "-enddate"], input=chain, check=True, capture_output=True, text=True).stdout
    return ssl.cert_time_to_seconds(text.strip().removeprefix("notAfter="))


def certificate_metric(connection):
    status, text = connection.asks("/metrics")
    assert status == 200
    return int(re.search(r"^roost_tls_certificate_expires_seconds (\d+)$", text, re.MULTILINE)[1])


def test_a_certificate_is_renewed_while_people_are_connected(roost, certificates):
    first, second, third = (certificates.make(name) for name in ("first", "second", "third"))
    certificates.put(*first)
    server = roost.serve(
        *certificates.options, "--turn", "--turn-port", 0, "--turn-tls-port", 0, "--livekit-dev", "--livekit-port", 0,
        "--media-port", 0, "--media-tcp-port", 0)
    listening = server.wait_for("listening")
    ports = [listening[name] for name in ("port", "signaling_port", "livekit_port", "turn_tls_port")]
    assert len(set(ports)) == 4
    assert [shown(port) for port in ports] == [der(first[0])] * 4
    kept = KeptConnection("127.0.0.1", server.port)
    assert kept.asks() == (200, "ok\n")
    assert certificate_metric(kept) == expires(first[0])
    # Found without being told of it.
    certificates.put(*second)
    for port in ports:
        wait_until(lambda: shown(port) == der(second[0]), lambda: f"port {port}\n{server.transcript()}")
    assert kept.asks() == (200, "ok\n")
    # At once for who says so.
    certificates.put(*third)
    server.send(signal.SIGHUP)
    for port in ports:
        wait_until(lambda: shown(port) == der(third[0]), lambda: f"port {port}\n{server.transcript()}", timeout=30)
    assert kept.asks() == (200, "ok\n")
    assert certificate_metric(kept) == expires(third[0])
    kept.close()


@pytest.mark.parametrize("fault", ["half", "other key", "gone"])
def test_files_that_are_of_no_use_change_nothing_until_they_are(fault, roost, certificates):
    first, second = certificates.make("first"), certificates.make("second")
    certificates.put(*first)
    server = roost.serve(*certificates.options)
    match fault:
        # Written in place: the server may look in the middle of it.
        case "half": certificates.chain.write_text(second[0][: len(second[0]) // 2])
        case "other key": certificates.key.write_text(second[1])
        case "gone": certificates.chain.unlink()
    server.send(signal.SIGHUP)
    wait_until(lambda: any("left as it was" in line for line in server.text), server.transcript)
    assert shown(server.port) == der(first[0])
    certificates.put(*second)
    wait_until(lambda: shown(server.port) == der(second[0]), server.transcript)


# Readiness


def readiness(server):
    """None when nobody answers any more."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    with contextlib.closing(connection), contextlib.suppress(ConnectionError, http.client.HTTPException):
        connection.request("GET", "/health/ready")
        answer = connection.getresponse()
        assert answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(answer.read())
    return None


READY = 200, {"problems": [], "status": "ready"}
GOING_DOWN = 503, {"problems": ["going_down"], "status": "not_ready"}


def test_a_server_that_is_told_to_end_is_not_ready_and_serves_on_for_a_while(roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path, "--shutdown-delay", "8s"), tmp_path)
    ann = chat.person("ann")
    ann.workspace()
    with_ann = ann.socket()
    wait_until(lambda: readiness(chat.process) == READY, chat.process.transcript)
    began = time.monotonic()
    chat.process.send(signal.SIGTERM)
    wait_until(lambda: readiness(chat.process) == GOING_DOWN, chat.process.transcript, timeout=7)
    # Who was sent here before is served, and it lives.
    done(ann.get("/users/me"))
    with_ann.settle()
    assert ann.session.get(f"{chat.process.url}/health", timeout=PATIENCE).text == "ok\n"
    assert with_ann.wait_closed() == 1001
    assert chat.process.wait() == 0
    assert time.monotonic() - began >= 8


def test_a_server_without_chat_is_ready(server):
    assert readiness(server) == READY


# Rooms that are drained

KEY, SECRET = "APIroost", "a-secret-of-forty-two-bytes-for-the-tests!"
ROOMS = ("--livekit-key", f"{KEY}:{SECRET}", "--livekit-port", 0, "--media-port", 0, "--media-tcp-port", 0)
OFFER = "".join(line + "\r\n" for line in [
    "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0", "m=video 9 UDP/TLS/RTP/SAVPF 96",
    "c=IN IP4 0.0.0.0", "a=mid:0", "a=sendonly", "a=rtcp-mux", "a=setup:actpass", "a=ice-ufrag:abcd",
    "a=ice-pwd:abcdefghijklmnopqrstuvwx", "a=fingerprint:sha-256 " + ":".join(["00"] * 32), "a=rtpmap:96 VP8/90000"])


class Publisher:
    """Somebody in a room, by WHIP: nothing of media comes, but for a minute it may."""

    def __init__(self, server, room, identity):
        self.port = server.port
        self.token = api.AccessToken(KEY, SECRET).with_identity(identity).with_grants(
            api.VideoGrants(room_join=True, room=room)).with_room_config(
            api.RoomConfiguration(departure_timeout=1)).to_jwt()
        self.status, self.text, headers = self.ask("POST", "/whip", OFFER)
        self.path = headers["Location"]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            fields = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/sdp"}
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers

    def leave(self):
        assert self.ask("DELETE", self.path)[0] == 200


def of_workers(server, name):
    """The values of a metric, by worker."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    found = re.findall(rf'^roost_livekit_{name}{{worker="(\d+)"}} (\d+)$', text, re.MULTILINE)
    return {int(worker): int(value) for worker, value in found}


def test_rooms_go_on_until_the_last_one_has_left_and_there_are_no_new_ones(roost):
    server = roost.serve(*ROOMS, "--media-workers", 2, "--drain-timeout", "10m")
    ann = Publisher(server, "kitchen", "ann")
    assert ann.status == 201
    assert of_workers(server, "draining") == {0: 0, 1: 0}
    server.send(signal.SIGTERM)
    wait_until(lambda: of_workers(server, "draining") == {0: 1, 1: 1}, server.transcript)
    assert readiness(server) == GOING_DOWN
    late = Publisher(server, "cellar", "eve")
    assert (late.status, late.text) == (503, "The server takes no new rooms: it is about to go down.")
    bob = Publisher(server, "kitchen", "bob")
    assert bob.status == 201
    ann.leave()
    assert sorted(of_workers(server, "peer_connections").values()) == [0, 1]
    bob.leave()
    assert server.wait() == 0


def test_rooms_are_not_waited_for_beyond_their_time_nor_after_a_second_signal(roost):
    server = roost.serve(*ROOMS, "--drain-timeout", "1s")
    assert Publisher(server, "kitchen", "ann").status == 201
    server.send(signal.SIGTERM)
    assert server.wait() == 0
    server = roost.serve(*ROOMS, "--drain-timeout", "10m")
    assert Publisher(server, "kitchen", "ann").status == 201
    server.send(signal.SIGTERM)
    wait_until(lambda: of_workers(server, "draining") == {0: 1}, server.transcript)
    server.send(signal.SIGTERM)
    assert server.wait() == 128 + signal.SIGTERM


def test_what_each_thread_of_media_has_to_do_is_seen(roost):
    server = roost.serve(*ROOMS, "--media-workers", 2)
    for room in ("kitchen", "cellar"):
        assert Publisher(server, room, "ann").status == 201
    assert Publisher(server, "kitchen", "bob").status == 201
    for name, values in {
        "rooms": [1, 1], "rooms_total": [1, 1], "signaling_connections": [1, 2], "joins_total": [1, 2],
        "peer_connections": [1, 2], "tcp_connections": [0, 0], "tcp_refused_total": [0, 0],
        "received_packets_total": [0, 0], "sent_packets_total": [0, 0], "send_dropped_total": [0, 0], "receive_overrun_total": [0, 0],
    }.items():
        assert sorted(of_workers(server, name).values()) == values, name


def test_a_server_that_is_full_says_so(roost):
    server = roost.serve(*ROOMS, "--livekit-max-connections", 3, "--livekit-max-participants", 2)
    for identity in ("ann", "bob"):
        assert Publisher(server, "kitchen", identity).status == 201
    late = Publisher(server, "kitchen", "eve")
    assert (late.status, late.text) == (503, "The room is full: 2 participants are in it.")
    eve = Publisher(server, "cellar", "eve")
    assert eve.status == 201
    late = Publisher(server, "cellar", "dan")
    assert (late.status, late.text) == (503, "The server is full: there are 3 connections where the room is.")
    eve.leave()
    assert Publisher(server, "cellar", "dan").status == 201


def test_time_for_rooms_is_for_rooms_of_our_own():
    fails("serve", "--drain-timeout", "10m", says="--drain-timeout needs --livekit-key", status=64)


# Logs


def test_a_log_of_json_has_one_object_a_line(roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path, "--log-format", "json"), tmp_path)
    ann = chat.person("ann")
    channel = ann.general(ann.workspace()["workspace"]["id"])
    ann.say(channel, "nobody logs this")
    # Without a mail server the links of letters are in the log.
    ann.post("/auth/forgot_password", email=ann.email)
    wait_until(lambda: any("mail not sent" in event.get("message", "") for event in chat.process.events),
               chat.process.transcript)
    assert chat.process.finish() == 0
    entries = [event for event in chat.process.events if "level" in event]
    for entry in entries:
        assert {"time", "level", "label", "message"} <= set(entry) <= {"time", "level", "label", "message", "metadata"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"]), entry
    letter = next(entry for entry in entries if "mail not sent" in entry["message"])
    assert (letter["level"], letter["label"]) == ("notice", "roost")
    assert letter["metadata"]["link"].startswith("http")
    # Everything of the log is in this form, and nothing of it says what people say, who they are and where.
    assert chat.process.text == []
    log = json.dumps(entries)
    for secret in ("nobody logs this", ann.email, ann.token, ann.refresh_token, "127.0."):
        assert secret not in log


# Metrics of the chat


def test_what_people_do_is_counted(chat, team):
    ann, bob, workspace = team
    general = ann.general(workspace)
    before = chat.metrics()
    with_ann, with_bob = ann.socket(), bob.socket()
    elsewhere = bob.on_another_device().socket()
    sending = '{method="POST",route="/channels/{channel_id}/messages",code="2xx"}'
    for number in range(5):
        last = ann.say(general, f"number {number}")
    for one in (with_ann, with_bob, elsewhere):
        one.wait_for("message_sent", id=last["id"])
    assert with_bob.ask("send_message", channel_id=general, content="by the socket")["type"] == "ack"
    now = chat.metrics()

    def grown(name):
        return now[name] - before.get(name, 0)

    assert grown("roost_chat_messages_sent_total") == 6
    assert grown(f"roost_chat_http_requests_total{sending}") == 5
    timed = '{method="POST",route="/channels/{channel_id}/messages"}'
    assert grown(f"roost_chat_http_request_duration_seconds_count{timed}") == 5
    assert now[f"roost_chat_http_request_duration_seconds_sum{timed}"] > 0
    assert grown("roost_chat_realtime_sockets") == 3 and grown("roost_chat_realtime_people") == 2
    assert grown("roost_chat_realtime_events_read_total") >= 5
    assert grown("roost_chat_realtime_frames_sent_total") >= 15
    kind = '{kind="write"}'
    assert grown(f"roost_chat_database_transaction_duration_seconds_count{kind}") >= 6
    assert now[f"roost_chat_database_failures_total{kind}"] == 0 and now["roost_chat_database_waiting"] >= 0
    # Who goes is counted no more; who comes back and has missed something is.
    place = with_bob.events(workspace)[-1]["sequence"]
    for one in (with_ann, with_bob, elsewhere):
        one.close()
    wait_until(lambda: chat.metrics()["roost_chat_realtime_sockets"] == before["roost_chat_realtime_sockets"],
               "sockets that are closed are counted no more")
    ann.say(general, "missed")
    bob.socket(resume={workspace: place}).close()
    assert chat.metrics()["roost_chat_realtime_resumes_total"] == before["roost_chat_realtime_resumes_total"] + 1
    calls = {name: value for name, value in chat.metrics().items() if name.startswith("roost_chat_call")}
    assert calls["roost_chat_calls"] == 0 and 'roost_chat_calls_ended_total{reason="completed"}' in calls


def test_files_are_counted_both_ways(chat, team):
    ann, _, workspace = team
    general = ann.general(workspace)
    before = chat.metrics()
    content = os.urandom(10_000)
    upload = done(ann.post(f"/channels/{general}/uploads", name="noise.bin", media_type="application/octet-stream",
                           size=len(content)), 201)
    part = ann.ask("PATCH", f"/uploads/{upload['id']}", data=content, headers={"Upload-Offset": "0"})
    assert part.status_code == 204, part.text
    file = done(ann.post(f"/uploads/{upload['id']}/complete"), 201)
    link = done(ann.get(f"/files/{file['id']}/link"))["url"]
    assert ann.session.get(f"{chat.process.url}{link}", timeout=PATIENCE).content == content
    now = chat.metrics()
    assert now["roost_chat_uploads_total"] == before["roost_chat_uploads_total"] + 1
    for way in ("upload", "download"):
        assert now[f"roost_chat_{way}_bytes_total"] == before[f"roost_chat_{way}_bytes_total"] + len(content)
