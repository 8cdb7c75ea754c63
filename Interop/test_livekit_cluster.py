"""`roost serve` before a cluster of LiveKit's protocol: clients and services that ask the one are in the rooms of the
other. The cluster is a second `roost serve`.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys

import jwt
import pytest
from livekit import api

from peers.exchange_peers import AiortcExchange
from peers.livekit_room import KEY, SECRET, Front, Server, token
from peers.livekit_service import RECEIVER, ask_each, method_of
from peers.roost_peer import find_roost, read_counters
from peers.whip_client import ask
from support.evidence import MEDIA, Evidence
from support.namespace import Namespace
from support.process import JSONProcess
from support.waiting import PATIENCE, wait_until

# Run inside the namespace: says what is asked of it, and answers like a cluster that knows nobody.
LISTENER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        line = {"event": "asked", "method": self.command, "target": self.path, "headers": list(self.headers.items())}
        sys.stdout.write(json.dumps(line) + "\\n")
        sys.stdout.flush()
        self.send_response(404)
        self.send_header("Set-Cookie", "a=b")
        self.send_header("Content-Length", "7")
        self.end_headers()
        self.wfile.write(b"nobody\\n")
    do_GET = do_POST = do_PATCH = do_DELETE = answer
    def log_message(self, *_): pass

server = ThreadingHTTPServer((sys.argv[1], 0), Handler)
print(json.dumps({"event": "listening", "port": server.server_port}), flush=True)
server.serve_forever()
"""

MODES = {"single": (), "dual": ("--dual",)}
both_modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


def free_port(namespace):
    with namespace.socket() as taken:
        taken.bind((namespace.address, 0))
        return taken.getsockname()[1]


@pytest.fixture(scope="module")
def network():
    """Of this file alone: nobody else takes a port in it that was free a moment ago."""
    network = Namespace().add_interface()
    yield network
    network.close()


@pytest.fixture(scope="module")
def hooks(network):
    process = JSONProcess("webhooks", network.command(sys.executable, "-c", RECEIVER, network.address))
    yield process
    process.kill()
    process.finish()


@pytest.fixture(scope="module")
def ports(network):
    """Of the cluster and of the server before it, each of which has to know the other's."""
    return free_port(network), free_port(network)


@pytest.fixture(scope="module")
def cluster(network, ports):
    server = Server(
        network, "--livekit-webhook", f"http://{network.address}:{ports[1]}/livekit/webhook", port=ports[0])
    yield server
    assert server.close() == 0, server.process.transcript()


@pytest.fixture(scope="module")
def sfu(network, cluster, ports, hooks):
    """The server before it, which the fixtures of rooms use."""
    receiver = f"http://{network.address}:{hooks.wait_for('listening')['port']}/"
    server = Front(network, cluster.url, "--livekit-webhook", receiver, port=ports[1])
    yield server
    assert server.close() == 0, server.process.transcript()


@pytest.fixture
def own():
    """Servers and processes of one test, which ends them in the opposite order."""
    started = []

    def keep(one):
        started.append(one)
        return one

    yield keep
    for one in reversed(started):
        one.close() if isinstance(one, Server) else one.finish()


def answered(server, method, path, body=None, **headers):
    """Status, the headers that mean something, and the body of a request from inside the namespace: of JSON what it says,
    else its bytes."""
    connection = server.namespace.http(server.namespace.address, server.port)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    told = {name.lower(): value for name, value in response.getheaders() if name.lower() not in ("date", "connection")}
    body = response.read()
    connection.close()
    return response.status, told, json.loads(body) if told.get("content-type") == "application/json" else body


def bearer(valid=600, **grants):
    grants = {"room_admin": True, "room_list": True, "room_create": True, **grants}
    made = api.AccessToken(KEY, SECRET).with_grants(api.VideoGrants(**grants))
    return f"Bearer {made.to_jwt()}"


def calls(server, *wanted, **keys):
    """Of the room service by LiveKit's package, one after the other."""
    answers = ask_each(server, *(method_of("room", *one) for one in wanted), **keys)
    return [one["answer"] if "answer" in one else list(one.values()) for one in answers]


# Clients


@both_modes
def test_two_see_and_hear_each_other(sfu, cluster, room, mode):
    ann, bob = sfu.join(room, "ann", *mode), sfu.join(room, "bob", *mode)
    ann.publish(hertz=880)
    bob.publish(hertz=554)
    for listener, hertz in [(bob, 880), (ann, 554)]:
        listener.check_picture()
        listener.check_sound(hertz)
    metrics = sfu.metrics()
    assert metrics["roost_livekit_cluster_sessions"] == 2 and metrics["roost_livekit_cluster_reachable"] == 1
    assert "roost_livekit_peer_connections" not in metrics
    assert cluster.metrics()["roost_livekit_signaling_connections"] == 2
    assert ann.leave() == 0
    bob.wait_for("gone", who="ann")
    wait_until(lambda: sfu.metrics()["roost_livekit_cluster_sessions"] == 1, "the session is over at both servers")


@both_modes
def test_one_at_the_cluster_and_one_through_the_server_before_it(sfu, cluster, room, mode):
    ann, bob = sfu.join(room, "ann", *mode), cluster.join(room, "bob", *mode)
    try:
        ann.publish(hertz=880)
        bob.publish(hertz=554)
        for listener, hertz in [(bob, 880), (ann, 554)]:
            listener.check_picture()
            listener.check_sound(hertz)
        ann.do("send", text="hello", topic="greeting")
        bob.wait_for("data", text="hello", who="ann")
        bob.do("call", who="ann", payload="hello")
        bob.wait_for("answer", answer="HELLO")
    finally:
        cluster.leave_all()


@pytest.mark.parametrize("scenario", ["SIGNAL_RECONNECT", "FULL_RECONNECT"])
def test_it_goes_on_after_a_reconnect(sfu, room, scenario):
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    ann.publish()
    bob.check_picture(15)
    ann.do("simulate", scenario=scenario)
    ann.wait_for("reconnected")
    bob.report("camera", fresh=True)
    bob.check_picture(30, stalls=1)


def test_our_own_client_publishes_and_records(sfu, room, own, tmp_path):
    ann = sfu.join(room, "ann")
    ann.publish()
    command = sfu.namespace.command(
        find_roost(), "join", "--token", token(room, "bob"), "--json", "--publish", MEDIA / "webRtcTestVideo.ivf",
        "--record", tmp_path)
    bob = own(JSONProcess("roost join", command, env={**os.environ, "LIVEKIT_URL": sfu.url}))
    bob.wait_for("joined")
    ann.wait_for("subscribed", who="bob", name="webRtcTestVideo", codec="video/VP8")
    ann.check_picture(name="webRtcTestVideo")

    index = tmp_path / "index.json"

    def film():
        listed = json.loads(index.read_text())["recordings"] if index.exists() else []
        return next((tmp_path / one["file"] for one in listed if one["source"] == "camera"), None)

    wait_until(lambda: film() and film().stat().st_size > 30_000, lambda: f"a recording\n{bob.transcript()}")
    assert bob.finish() in (0, 130)
    Evidence("the recording", counters=read_counters(film())).check_picture(least=15)


def test_a_session_of_whip_is_the_clusters(sfu, cluster, room, own):
    ann = cluster.join(room, "ann")
    try:
        obs = own(AiortcExchange(sfu, "/whip", token(room, "obs"), "--publish", "VP8", "--hertz", 554))
        ann.wait_for("connected", who="obs")
        ann.check_picture()
        ann.check_sound(554)
        assert obs.session.path.startswith("/whip/sessions/")
        player = own(AiortcExchange(sfu, "/whep", token(room, "player")))
        player.check_picture()
        obs.session.end()
        ann.wait_for("gone", who="obs")
        again = obs.session.ask("DELETE")
        assert again.status == 404 and again.headers["Access-Control-Allow-Origin"] == "*"
    finally:
        cluster.leave_all()


# Services


def test_what_is_read_is_what_the_cluster_says(sfu, cluster, room):
    """Bytes and JSON, of the same room."""
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    ann.publish()
    bob.check_picture(15)
    headers = {"Authorization": bearer(room=room)}
    binary, text = {"Content_Type": "application/protobuf"}, {"Content_Type": "application/json"}
    asked = {
        "ListRooms": ({"names": [room]}, api.ListRoomsRequest(names=[room])),
        "ListParticipants": ({"room": room}, api.ListParticipantsRequest(room=room)),
        "GetParticipant": (
            {"room": room, "identity": "ann"}, api.RoomParticipantIdentity(room=room, identity="ann")),
    }
    for method, (fields, message) in asked.items():
        for body, form in [(json.dumps(fields), text), (message.SerializeToString(), binary)]:
            path = f"/twirp/livekit.RoomService/{method}"
            here, there = (answered(one, "POST", path, body, **headers, **form) for one in (sfu, cluster))
            assert here == there, (method, form)
            assert here[0] == 200 and here[2]


def test_every_change_is_answered_as_the_cluster_answers_it(sfu, cluster):
    """Of two rooms of the same kind, one is asked for here and one there."""
    def answers(server):
        room = sfu.new_room()
        made = calls(server, ["create_room", "CreateRoomRequest", {"name": room, "metadata": "warm", "max_participants": 4}])
        ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
        ann.publish()
        bob.check_picture(15)
        who = {"room": room, "identity": "ann"}
        track = calls(server, ["get_participant", "RoomParticipantIdentity", who])[0]["tracks"][0]["sid"]
        given = calls(
            server,
            ["list_rooms", "ListRoomsRequest", {"names": [room]}],
            ["update_room_metadata", "UpdateRoomMetadataRequest", {"room": room, "metadata": "late"}],
            ["update_participant", "UpdateParticipantRequest", {**who, "name": "Ann", "attributes": {"seat": "4"}}],
            ["mute_published_track", "MuteRoomTrackRequest", {**who, "track_sid": track, "muted": True}],
            ["mute_published_track", "MuteRoomTrackRequest", {**who, "track_sid": track, "muted": False}],
            ["update_subscriptions", "UpdateSubscriptionsRequest",
             {"room": room, "identity": "bob", "track_sids": [track], "subscribe": False}],
            ["send_data", "SendDataRequest", {"room": room, "data": "aGVsbG8=", "kind": "RELIABLE", "topic": "news"}],
            ["forward_participant", "ForwardParticipantRequest", {**who, "destination_room": "elsewhere"}],
            ["move_participant", "MoveParticipantRequest", {**who, "destination_room": "elsewhere"}],
            ["remove_participant", "RoomParticipantIdentity", who],
            ["get_participant", "RoomParticipantIdentity", who],
            ["remove_participant", "RoomParticipantIdentity", who],
            ["create_room", "CreateRoomRequest", {"name": ""}],
        )
        ann.wait_for("disconnected", reason="PARTICIPANT_REMOVED")
        bob.wait_for("data", text="hello", topic="news")
        rpc = {"room": room, "destination_identity": "bob", "method": "shout", "payload": "quiet"}
        remote = answered(
            server, "POST", "/twirp/livekit.RoomService/PerformRpc", json.dumps(rpc), Content_Type="application/json",
            Authorization=bearer(room=room))
        assert remote[0] == 200 and remote[2] == {"payload": "QUIET"}
        ended = calls(
            server, ["delete_room", "DeleteRoomRequest", {"room": room}],
            ["delete_room", "DeleteRoomRequest", {"room": room}])
        bob.wait_for("disconnected", reason="ROOM_DELETED")
        text = json.dumps(made + given + ended).replace(room, "ROOM")
        sfu.leave_all()
        # What is different in two rooms of the same kind.
        text = re.sub(r'"(PA|TR|RM)_\w+', r'"\1', text)
        return json.loads(re.sub(r'"(\w+)": (?:"[\w-]*"|\d+)', lambda found: found.group(0) if found.group(1) not in (
            "creation_time", "creation_time_ms", "joined_at", "joined_at_ms", "turn_password", "version", "cid", "mid",
            "sdp_cid", "ssrc", "stream", "bitrate") else f'"{found.group(1)}": 0', text))

    here, there = answers(sfu), answers(cluster)
    assert here == there
    assert here[0]["name"] == "ROOM" and here[-1][:2] == ["not_found", 404]


def test_what_is_wrong_is_refused_as_the_cluster_refuses_it(sfu, cluster, room):
    service = "/twirp/livekit.RoomService/"
    body, form = json.dumps({"room": room}), {"Content_Type": "application/json"}
    good = {"Authorization": bearer(room=room)}
    join = token(room, "ann")
    asked = {
        "another method": ("POST", service + "Nothing", body, {**form, **good}),
        "another service": ("POST", "/twirp/livekit.Nothing/ListRooms", body, {**form, **good}),
        "no method": ("POST", "/twirp/nothing", body, {**form, **good}),
        "no such room": ("POST", service + "DeleteRoom", body, {**form, **good}),
        "no grant": ("POST", service + "ListRooms", "{}", {**form, "Authorization": f"Bearer {join}"}),
        "no JSON": ("POST", service + "ListRooms", "{", {**form, **good}),
        "no protobuf": ("POST", service + "ListRooms", b"\xff\xff", {**good, "Content_Type": "application/protobuf"}),
        "another type": ("POST", service + "ListRooms", "{}", {**good, "Content_Type": "text/plain"}),
        "GET": ("GET", service + "ListRooms", None, good),
        "OPTIONS": ("OPTIONS", service + "ListRooms", None, {"Origin": "https://page.example"}),
        "no token": ("POST", service + "ListRooms", "{}", form),
        "another's token": ("POST", service + "ListRooms", "{}", {**form, "Authorization": "Bearer a.b.c"}),
        "no token for a room": ("GET", "/rtc/validate", None, {}),
        "a service's token for a room": ("GET", "/rtc/validate", None, good),
        "a good token": ("GET", f"/rtc/validate?access_token={join}", None, {}),
        "no join request": ("GET", f"/rtc/v1/validate?access_token={join}", None, {}),
        "preflight of validate": ("OPTIONS", "/rtc/validate", None, {}),
        "no upgrade": ("GET", f"/rtc?access_token={join}", None, {}),
        "no offer": ("POST", "/whip", "", {"Authorization": f"Bearer {join}", "Content_Type": "application/sdp"}),
        "no type": ("POST", "/whip", "", {"Authorization": f"Bearer {join}"}),
        "preflight of whip": ("OPTIONS", "/whip", None, {}),
        "a look at whip": ("GET", "/whip", None, {}),
        "another method of whip": ("PUT", "/whip", None, {"Authorization": f"Bearer {join}"}),
        "another room of whip": ("POST", "/whip/x%2Fy", "", {"Authorization": f"Bearer {join}"}),
        "no session": ("DELETE", "/whep/sessions/nothing", None, {"Authorization": f"Bearer {join}"}),
    }
    for name, (method, path, body, headers) in asked.items():
        here, there = (answered(one, method, path, body, **headers) for one in (sfu, cluster))
        assert here == there, name


def test_a_body_of_ten_mebibytes_is_a_services_only(sfu, cluster, room):
    path, form = "/twirp/livekit.RoomService/SendData", {"Content_Type": "application/json"}
    large = json.dumps({"room": room, "data": "A" * (3 << 20)})
    for server in (sfu, cluster):
        # Its head is enough.
        refused = answered(
            server, "POST", path, **form, Authorization=f"Bearer {token(room, 'ann')}", Content_Length=str(len(large)))
        assert refused[0] == 413
    here, there = (answered(one, "POST", path, large, **form, Authorization=bearer(room=room)) for one in (sfu, cluster))
    assert here == there and here[0] == 404


# What goes on


def test_only_good_tokens_and_what_matters_reach_the_cluster(network, own, room):
    listener = own(JSONProcess("cluster", network.command(sys.executable, "-c", LISTENER, network.address)))
    front = own(Front(network, f"http://{network.address}:{listener.wait_for('listening')['port']}/base"))
    wrong = [
        jwt.encode({"iss": KEY, "sub": "ann", "exp": 4_000_000_000, "video": {"roomJoin": True, "room": room}}, "x" * 40),
        token(room, "ann", valid=-300), "a.b.c", ""]
    refused = 0
    for text in wrong:
        for method, path in [
            ("GET", "/rtc/validate"), ("GET", "/rtc/v1/validate"), ("POST", "/twirp/livekit.RoomService/ListRooms"),
            ("POST", "/twirp/livekit.Egress/ListEgress"), ("POST", "/whip"), ("POST", "/whep"),
        ]:
            refused += 2
            in_query = answered(front, method, f"{path}?access_token={text}")
            assert in_query[0] == 401, (method, path, text)
            assert answered(front, method, path, Authorization=f"Bearer {text}")[0] == 401
        refused += 1
        upgrade = {
            "Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
            "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        assert answered(front, "GET", f"/rtc?access_token={text}", **upgrade)[0] == 401
    for path in ["/twirp/livekit.RoomService/..", "/twirp/other.Service/List", "/whip/..", "/whip/sessions/%2e%2e"]:
        assert answered(front, "POST", path, Authorization=bearer())[0] in (404, 405)

    good = token(room, "ann")
    status, headers, body = answered(
        front, "GET", f"/rtc/validate?sdk=python&access_token={good}&name=a%20b%26c", User_Agent="test",
        Cookie="secret=1", X_Forwarded_For="1.2.3.4", Content_Length="0", Proxy_Authorization="Basic eA==")
    assert (status, body) == (404, b"nobody\n") and "set-cookie" not in headers
    asked = listener.wait_for("asked", target="/base/rtc/validate?sdk=python&name=a%20b%26c")
    told = dict(asked["headers"])
    assert told.pop("Via").startswith("1.1 roost-")
    assert told.pop("Host").startswith(network.address)
    assert told == {"Authorization": f"Bearer {good}", "User-Agent": "test"} | (
        {"Accept-Encoding": "identity"} if "Accept-Encoding" in told else {})
    # A service of LiveKit's that we do not know ourselves, and nothing of what was refused.
    assert answered(front, "POST", "/twirp/livekit.Egress/ListEgress", b"{}", Authorization=bearer())[0] == 404
    listener.wait_for("asked", target="/base/twirp/livekit.Egress/ListEgress", method="POST")
    targets = [line["target"] for line in listener.events if line["event"] == "asked"]
    assert [target for target in targets if target != "/base/"] == [
        "/base/rtc/validate?sdk=python&name=a%20b%26c", "/base/twirp/livekit.Egress/ListEgress"]
    counted = front.metrics()
    assert sum(count for name, count in counted.items() if "cluster_refused_total" in name) == refused
    assert sum(count for name, count in counted.items() if "cluster_requests_total" in name) == 2
    everything = json.dumps(front.process.events) + "".join(front.process.text)
    assert good not in everything and "eyJ" not in everything


def test_a_server_that_is_its_own_cluster_does_not_ask_for_ever(network, own, room):
    port = free_port(network)
    front = own(Front(network, f"ws://{network.address}:{port}", port=port))
    status, _, body = answered(front, "GET", f"/rtc/validate?access_token={token(room, 'ann')}")
    assert status == 508 and b"leads back" in body


# Webhooks


def test_the_clusters_events_are_handed_on_in_order_and_once(sfu, cluster, hooks, room):
    ann, bob = sfu.join(room, "ann"), cluster.join(room, "bob")
    try:
        ann.do("publish_audio")
        bob.wait_for("subscribed", name="microphone")
        ann.leave()
        bob.wait_for("gone", who="ann")
    finally:
        cluster.leave_all()
    calls(sfu, ["delete_room", "DeleteRoomRequest", {"room": room}])
    receiver = api.WebhookReceiver(api.TokenVerifier(KEY, SECRET))

    def posted():
        lines = [line for line in list(hooks.events) if line["event"] == "webhook"]
        assert all(line["type"] == "application/webhook+json" for line in lines)
        return [(receiver.receive(line["body"], line["token"]), line) for line in lines]

    def of_room():
        return [(event, line) for event, line in posted() if event.room.name == room]

    wait_until(lambda: any(event.event == "room_finished" for event, _ in of_room()), "the last webhook has come")
    events = [event for event, _ in of_room()]
    names = [event.event for event in events if event.participant.identity in ("", "ann")]
    assert names[0] == "room_started" and names[-1] == "room_finished", names
    in_order = ["participant_joined", "track_published", "track_unpublished", "participant_left"]
    assert [name for name in names if name in in_order] == in_order, names
    assert len({event.id for event in events}) == len(events) and all(event.id for event in events)

    # The cluster's last one once more, as when its first delivery had not been answered.
    body = of_room()[-1][1]["body"].encode()
    webhook = {"Content_Type": "application/webhook+json", "Authorization": signature(body)}
    assert answered(sfu, "POST", "/livekit/webhook", body, **webhook)[0] == 200
    # One that is new comes afterwards, with what only its own sender knows in it.
    new = json.dumps({"event": "news", "id": f"EV_{room}", "someField": [1, 2]}).encode()
    webhook["Authorization"] = signature(new)
    assert answered(sfu, "POST", "/livekit/webhook", new, **webhook)[0] == 200
    wait_until(lambda: any(line["body"].encode() == new for line in list(hooks.events) if "body" in line), "the news")
    # Rooms of other tests may end meanwhile; of this one there is nothing more.
    assert [event.id for event, _ in of_room()] == [event.id for event in events]
    assert sfu.metrics()['roost_livekit_cluster_webhooks_total{outcome="repeated"}'] >= 1


def signature(body, secret=SECRET, **claims):
    made = api.AccessToken(KEY, secret)
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    return made.with_sha256(digest).to_jwt()


def test_webhooks_of_others_are_refused(sfu, hooks):
    body, form = b'{"event": "forged", "id": "EV_forged"}', {"Content_Type": "application/webhook+json"}
    before = sfu.metrics()['roost_livekit_cluster_webhooks_total{outcome="refused"}']
    path = "/livekit/webhook"
    good = signature(body)
    tries = [
        (401, body, form),
        (401, body, {**form, "Authorization": "a.b.c"}),
        (401, body, {**form, "Authorization": signature(body, "another secret that is as long as it")}),
        (401, body + b" ", {**form, "Authorization": good}),
        (401, body, {**form, "Authorization": token("room", "ann")}),
        (400, b"{", {**form, "Authorization": signature(b"{")}),
        (415, body, {"Content_Type": "application/json", "Authorization": good}),
        (415, body, {"Authorization": good}),
    ]
    for status, sent, headers in tries:
        assert answered(sfu, "POST", path, sent, **headers)[0] == status, headers
    # Its head is enough.
    for bearer_of_one, length in ((token("room", "ann"), 1_000_001), (good, (10 << 20) + 1)):
        refused = answered(sfu, "POST", path, **form, Authorization=bearer_of_one, Content_Length=str(length))
        assert refused[0] == 413
    assert answered(sfu, "GET", path)[0] == 405
    after = sfu.metrics()['roost_livekit_cluster_webhooks_total{outcome="refused"}']
    assert after - before == len(tries)
    assert not any("forged" in line.get("body", "") for line in hooks.events)


# A cluster that is gone


def test_a_cluster_that_goes_and_comes_back(network, own):
    port = free_port(network)
    first = Server(network, port=port)
    front = own(Front(network, first.url))
    room = front.new_room()
    ann = front.join(room, "ann")
    listed = ["list_rooms", "ListRoomsRequest", {"names": [room]}]
    assert calls(front, listed)[0]["rooms"][0]["name"] == room
    first.process.kill()
    first.process.finish()
    ann.wait_for("reconnecting")
    assert calls(front, listed) == [["unavailable", 503, "The cluster cannot be reached."]]
    refused = answered(front, "GET", f"/rtc/validate?access_token={token(room, 'eve')}")
    assert refused[0] == 503 and refused[1]["access-control-allow-origin"] == "*"
    exchange = ask(front, "POST", "/whip", "v=0", token(room, "obs"), Content_Type="application/sdp")
    assert exchange.status == 503 and exchange.headers["Retry-After"]
    metrics = front.metrics()
    assert metrics["roost_livekit_cluster_reachable"] == 0
    assert metrics['roost_livekit_cluster_failures_total{kind="service"}'] == 1
    assert answered(front, "GET", "/health")[0] == 200

    again = own(Server(network, port=port))
    wait_until(lambda: front.metrics()["roost_livekit_cluster_reachable"] == 1, "the cluster is seen to be back")
    bob = front.join(room, "bob")
    # Whoever was told that the connection is lost comes back by itself.
    ann.wait_for("reconnected")
    ann.publish()
    bob.check_picture()
    assert {one["identity"] for one in calls(
        again, ["list_participants", "ListParticipantsRequest", {"room": room}])[0]["participants"]} == {"ann", "bob"}
    log = "".join(front.process.text)
    assert log.count("the cluster cannot be reached") == 1 and log.count("can be reached again") == 1


def test_a_cluster_with_a_certificate_of_a_private_authority(network, own, tmp_path):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=roost", "-addext", f"subjectAltName=IP:{network.address}",
         "-keyout", key, "-out", certificate], check=True, capture_output=True)
    secure = own(Server(network, "--tls-certificate", certificate, "--tls-key", key, trusts=certificate))
    stranger = own(Front(network, secure.url))
    validate = f"/rtc/validate?access_token={token('kitchen', 'ann')}"
    assert answered(stranger, "GET", validate)[0] == 503
    front = own(Front(network, secure.url, "--livekit-ca", certificate))
    room = front.new_room()
    ann, bob = front.join(room, "ann"), front.join(room, "bob", "--dual")
    ann.publish()
    bob.check_picture()
    assert calls(front, ["list_rooms", "ListRoomsRequest", {"names": [room]}])[0]["rooms"][0]["name"] == room
    assert "certificate" in "".join(stranger.process.text)


# The command line


@pytest.mark.parametrize(
    "options, says",
    [
        (["--media-port", "7882", "--media-workers", "2"], "--media-workers is for rooms of our own"),
        (["--no-livekit-auto-create"], "--no-livekit-auto-create is for rooms of our own"),
        (["--livekit-remote-unmute"], "--livekit-remote-unmute is for rooms of our own"),
        (["--media-address", "127.0.0.1"], "--media-address is for rooms of our own"),
    ],
)
def test_options_for_rooms_of_our_own_are_refused(options, says):
    fails_to_serve("--livekit-url", "ws://localhost:1", *options, says=says)


def test_urls_and_authorities_that_cannot_be_used(tmp_path):
    key = ["--livekit-key", f"{KEY}:{SECRET}"]
    for url in ["localhost:7880", "ftp://localhost", "ws://ann@localhost", "ws://localhost?a=b", "ws://localhost:0"]:
        fails_to_serve("--livekit-url", url, *key, says="is not the URL of a server")
    authorities = tmp_path / "none.pem"
    cluster = ["--livekit-url", "wss://localhost", "--livekit-ca", authorities, *key]
    fails_to_serve(*cluster, says="is not there, or may not be read")
    authorities.write_text("none")
    fails_to_serve(*cluster, says="no certificates")
    fails_to_serve("--livekit-url", "ws://localhost", says="needs the cluster's API key")
    fails_to_serve("--livekit-ca", tmp_path, says="--livekit-ca needs --livekit-url")


def fails_to_serve(*options, says):
    command = [find_roost(), "serve", "--host", "127.0.0.1", "--port", "0", "--signaling-port", "0", *options]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode != 0 and says in done.stderr, done.stderr
    assert "Fatal" not in done.stderr
