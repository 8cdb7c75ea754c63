"""WHIP (RFC 9725) and WHEP in rooms of `roost serve`: publishers and players that we did not write."""

import json
import time

import jwt
import pytest
from livekit import api

from peers.examples import find_example
from peers.exchange_peers import AiortcExchange, ChromiumExchange, GStreamerExchange, PionExchange
from peers.livekit_room import KEY, SECRET, Server, token
from peers.whip_client import FRAGMENT, SDP, ask, offer_to
from support.evidence import MEDIA, TONES, Evidence
from support.namespace import Namespace
from support.process import JSONProcess
from support.waiting import wait_until
from test_gstreamer import wait_for_media

VIDEO, SOUND = MEDIA / "webRtcTestVideo.ivf", MEDIA / "webRtcTestVideo.ogg"


@pytest.fixture
def aiortc(sfu, room):
    """Starts peers that publish to the room, or play from it."""
    peers = []

    def start(path, identity, *options, **grants):
        peers.append(AiortcExchange(sfu, path, token(room, identity, **grants), *options))
        return peers[-1]

    yield start
    for peer in peers:
        peer.finish()
        print(peer.transcript())


@pytest.fixture
def chromium(browser, sfu, room):
    """Pages that publish to the room, or play from it."""
    pages = []

    def start(path, identity, publish=None, layers=(), scalable=False, **grants):
        pages.append(ChromiumExchange(browser, sfu, path, token(room, identity, **grants), publish, layers, scalable))
        return pages[-1]

    yield start
    for page in pages:
        page.close()


@pytest.mark.parametrize("codec", ["VP8", "H264"])
def test_who_publishes_by_whip_is_seen_and_heard(sfu, room, aiortc, codec):
    ann = sfu.join(room, "ann")
    obs = aiortc("/whip", "obs", "--publish", codec, "--hertz", 554)
    ann.wait_for("connected", who="obs")
    assert ann.wait_for("subscribed", name="camera")["codec"] == f"video/{codec}"
    ann.check_picture()
    ann.check_sound(554)
    obs.session.end()
    ann.wait_for("gone", who="obs")
    assert obs.session.ask("DELETE").status == 404


def test_clients_of_livekits_own_path_come_into_the_room_of_their_token(sfu, room, aiortc):
    ann = sfu.join(room, "ann")
    obs = aiortc("/whip/v1", "obs", "--publish", "VP8", "--hertz", 554)
    ann.wait_for("connected", who="obs")
    # So LiveKit's server calls them.
    ann.check_picture(name="synthesized-camera")
    ann.check_sound(554, name="synthesized-microphone")
    # As LiveKit's server says it, and a proxy that knows no other path passes on.
    assert obs.session.path.startswith("/whip/v1/")
    candidate = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 5 192.0.2.9 9 typ host\r\n"
    assert obs.session.patch(candidate, obs.session.tag).status == 204
    obs.session.end()
    ann.wait_for("gone", who="obs")
    assert obs.session.ask("DELETE").status == 404
    # It is no room: a token for all of them does not say where.
    assert offer_to(sfu, "/whip/v1", OFFER, anywhere("obs")).status == 400


def test_our_example_publishes_a_file_to_a_room(sfu, room):
    ann = sfu.join(room, "ann")
    command = [find_example("whip-publish"), f"{sfu.http}/whip", VIDEO, SOUND, f"--token={token(room, 'file')}"]
    program = JSONProcess("whip-publish", sfu.namespace.command(*command))
    ann.check_picture()
    ann.wait_until("microphone", lambda report: len(report["hertz"]) >= 6, "three seconds of sound")
    Evidence("ann", hertz=ann.report("microphone")["hertz"][1:]).check_sound(TONES)
    program.interrupt()
    program.wait()
    program.finish()


@pytest.mark.parametrize("codec", ["VP8", "H264"])
def test_gstreamer_publishes_by_whip(sfu, room, codec):
    ann = sfu.join(room, "ann")
    gstreamer = GStreamerExchange(sfu, "/whip", token(room, "gstreamer"), codec)
    try:
        assert ann.wait_for("subscribed", name="camera")["codec"] == f"video/{codec}"
        # Its pictures have no counter, but come one after the other.
        ann.wait_until("camera", lambda report: len(report["sizes"]) >= 45, "45 pictures")
        ann.check_sound(440)
        gstreamer.session.end()
        ann.wait_for("gone", who="gstreamer")
    except BaseException as error:
        error.add_note(gstreamer.transcript())
        raise
    finally:
        gstreamer.close()


def test_a_browser_publishes_layers_and_each_subscriber_has_one(sfu, room, chromium):
    ann = sfu.join(room, "ann")
    chromium("/whip", "page", publish=660, layers=["f", "h", "q"])
    ann.check_picture()
    ann.check_sound(660)
    ann.do("quality", name="camera", quality="LOW")

    def is_small(report):
        return report["sizes"] and report["sizes"][-1][0] <= 320

    ann.wait_until("camera", is_small, "the smallest layer")
    ann.do("quality", name="camera", quality="HIGH")
    ann.wait_until("camera", lambda report: report["sizes"][-1][0] == 640, "the largest layer")


def test_a_layer_that_a_browser_has_nothing_left_for_is_left(sfu, room, chromium):
    """Of which it makes key frames alone, whichever layer it is asked for one of."""
    ann = sfu.join(room, "ann")
    page = chromium("/whip", "page", publish=660, layers=["f", "h", "q"])
    ann.check_picture()
    page.limit("f", 15_000)
    ann.report("camera", fresh=True)
    # Fifteen seconds; with a picture in a second and a half it would be minutes.
    ann.check_picture(450)
    widths = [width for width, _ in ann.report("camera")["sizes"]]
    assert set(widths[90:]) == {320}, widths
    page.limit("f", 1_000_000)
    ann.wait_until("camera", lambda report: report["sizes"][-1][0] == 640, "the largest layer")


@pytest.mark.parametrize("layers", [[], ["f", "h", "q"]], ids=["one", "layers"])
def test_a_browser_goes_over_to_another_codec(sfu, room, aiortc, chromium, layers):
    """Without telling anybody: subscribers of two connections and of one, and a player, go on seeing it."""
    subscribers = [sfu.join(room, "ann"), sfu.join(room, "bob", "--dual")]
    page = chromium("/whip", "page", publish=660, layers=layers)
    player = aiortc("/whep", "player")
    sids = {one.wait_for("subscribed", name="camera", codec="video/VP8")["sid"] for one in subscribers}
    for one in [*subscribers, player]:
        one.check_picture()
    for times, codec in [(2, "video/H264"), (3, "video/VP8")]:
        page.encode(codec)
        for one in subscribers:
            assert one.wait_for("subscribed", name="camera", times=times)["sid"] in sids
            one.report("camera", fresh=True)
            one.check_picture()
        before = len(player.report()["counters"])
        wait_until(lambda: len(player.report()["counters"]) >= before + 45, f"pictures\n{player.transcript()}")
        # The key frame with which a larger layer begins may be of the picture before.
        counters = player.report()["counters"][before:]
        Evidence("player", counters=counters, returns=2 if layers else 0).check_picture(least=40)
    subscribers[0].check_sound(660)


def test_a_browser_without_dependency_descriptors_sees_one_layer_of_av1(chromium):
    """Chromium offers the extension for nothing that it only receives, and cannot put several layers together without."""
    chromium("/whip", "page", publish=660, scalable=True)
    player = chromium("/whep", "player")
    frames = "document.getElementById('chat-remote').getVideoPlaybackQuality().totalVideoFrames"
    before = player.page.evaluate(frames)
    wait_until(lambda: player.page.evaluate(frames) >= before + 45, f"pictures\n{player.seen()}")
    # Of two layers or three, as the publisher has found best; all of them are 640 wide.
    assert player.page.evaluate("document.getElementById('chat-remote').videoWidth") in (160, 320)


def test_players_that_we_did_not_write(sfu, room, aiortc, chromium):
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob", hidden=True)
    ann.publish(hertz=880)
    # What is published with earlier packets comes alone to those who know nothing of that.
    bob.wait_for("subscribed", name="microphone", codec="audio/red")
    page = chromium("/whep", "page", hidden=True)
    player = aiortc("/whep", "player")
    gstreamer = GStreamerExchange(sfu, "/whep", token(room, "gstreamer", hidden=True))
    try:
        page.check(880)
        player.check_picture()
        player.check_sound(880)
        wait_for_media(gstreamer, 20, [880])
    except BaseException as error:
        error.add_note(gstreamer.transcript())
        raise
    finally:
        gstreamer.close()
    assert "red/48000" not in player.session.answer
    # Who may look on unseen is not seen.
    assert [line["who"] for line in ann.process.events if line["event"] == "connected"] == ["player"]
    player.session.end()
    assert player.session.ask("DELETE").status == 404


@pytest.mark.parametrize("codec", ["VP8", "H264"])
def test_from_whip_to_whep(aiortc, codec):
    """The player is there first, stays when its publisher goes, and sees the next one."""
    player = aiortc("/whep", "player")
    player.wait_connected()
    first = aiortc("/whip", "first", "--publish", codec, "--hertz", 554)
    player.check_picture()
    player.check_sound(554)
    first.session.end()
    before = len(player.report()["counters"])
    aiortc("/whip", "second", "--publish", codec, "--hertz", 660)
    wait_until(lambda: len(player.report()["counters"]) >= before + 60, f"pictures of the second\n{player.transcript()}")
    Evidence("player", counters=player.report()["counters"][before + 10:]).check_picture()


def test_a_player_that_waits_for_packets_hears_of_tracks_that_are_muted(sfu, room):
    """Pion tells of a track when its first packet comes, and with it LiveKit's Go SDK."""
    ann = sfu.join(room, "ann")
    ann.publish(hertz=880)
    bob = sfu.join(room, "bob")
    for name in ("camera", "microphone"):
        bob.wait_for("subscribed", name=name)
        ann.do("mute", name=name)
        bob.wait_for("muted", name=name)
    player = PionExchange(sfu, "/whep", token(room, "player"))
    try:
        for kind in ("audio", "video"):
            player.wait_for("track", kind=kind)
        # Sound that was muted ends with a second of silence, which counts as well.
        assert not any(line["event"] == "media" and line["kind"] == "video" for line in player.events if "event" in line)
        for name, kind in [("camera", "video"), ("microphone", "audio")]:
            ann.do("unmute", name=name)
            player.wait_for("media", kind=kind)
    finally:
        player.finish()
        print(player.transcript())


def test_a_player_says_what_it_wants(sfu, room, aiortc):
    ann, bob = sfu.join(room, "ann", "--no-subscribe"), sfu.join(room, "bob", "--no-subscribe")
    ann.publish(hertz=880)
    bob.publish(hertz=554)
    player = aiortc("/whep?participant=bob", "player", "--play", "audio")
    player.check_sound(554)


@pytest.mark.combinations
@pytest.mark.parametrize("late", [False, True], ids=["at once", "after a path works"])
@pytest.mark.parametrize("path", ["/whip", "/whep"])
def test_new_paths_by_patch(sfu, room, chromium, path, late):
    ann = sfu.join(room, "ann")
    if path == "/whip":
        page = chromium(path, "page", publish=660)
        ann.check_picture(15)
        page.restart(late)
        ann.report("camera", fresh=True)
        ann.report("microphone", fresh=True)
        ann.check_picture()
        ann.check_sound(660)
    else:
        ann.publish(hertz=880)
        page = chromium(path, "page")
        page.check(880, frames=15, seconds=1.5)
        page.restart(late)
        page.forget()
        page.check(880)


def test_patches_are_about_paths_that_are_there(sfu, room, aiortc):
    session = aiortc("/whip", "obs", "--publish", "VP8").session
    candidate = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 5 192.0.2.9 9 typ host\r\n"
    assert session.patch(candidate, session.tag).status == 204
    assert session.ask("PATCH", candidate, Content_Type=FRAGMENT).status == 428
    assert session.patch(candidate, '"another"').status == 412
    assert session.patch(candidate, f"W/{session.tag}").status == 412
    assert session.patch(candidate, "malformed").status == 400
    assert session.patch("nonsense", session.tag).status == 400
    assert session.patch(candidate, session.tag, Content_Type=SDP).status == 415
    assert session.ask("PATCH", candidate, Content_Type=FRAGMENT, If_Match=session.tag, token="x").status == 401
    other = token(room, "somebody else")
    assert session.ask("PATCH", candidate, token=other, Content_Type=FRAGMENT, If_Match=session.tag).status == 403
    restart = session.patch("a=ice-ufrag:new1\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\n" + candidate, "*")
    assert restart.status == 200 and restart.headers["Content-Type"] == FRAGMENT, restart
    assert restart.headers["ETag"] != session.tag and "a=ice-ufrag:" in restart.body
    assert session.patch(candidate, session.tag).status == 412
    assert session.patch(candidate, restart.headers["ETag"]).status == 204
    # Its answer may be lost just then: asked for again, it is the same.
    repeated = session.patch("a=ice-ufrag:new1\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\n" + candidate, "*")
    assert (repeated.status, repeated.headers["ETag"], repeated.body) == (200, restart.headers["ETag"], restart.body)
    # As the examples of RFC 9725 §4.3.3 have it.
    again = session.patch("a=ice-ufrag:new2\r\na=ice-pwd:abcdefghijklmnopqrstuvwy\r\n" + candidate, '"*"')
    assert again.status == 200 and again.headers["ETag"] not in (session.tag, restart.headers["ETag"]), again
    # What was kept of the paths before comes too late, also under the tag of those that there are.
    late = session.patch("a=ice-ufrag:new1\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\n" + candidate, again.headers["ETag"])
    assert late.status == 412 and session.patch(candidate, again.headers["ETag"]).status == 204


def test_who_is_sent_away_has_no_session_any_more(sfu, room, aiortc):
    ann = sfu.join(room, "ann")
    obs = aiortc("/whip", "obs", "--publish", "VP8")
    ann.wait_for("subscribed", name="camera")
    service(sfu, "RemoveParticipant", {"room": room, "identity": "obs"})
    ann.wait_for("gone", who="obs")
    assert obs.session.ask("DELETE").status == 404


def service(sfu, method, request, **grants):
    """A call of the room service."""
    grants = api.VideoGrants(room_admin=True, room=request.get("room", ""), **grants)
    bearer = api.AccessToken(KEY, SECRET).with_grants(grants).to_jwt()
    response = ask(
        sfu, "POST", f"/twirp/livekit.RoomService/{method}", json.dumps(request), bearer,
        Content_Type="application/json")
    assert response.status == 200, response
    return json.loads(response.body)


def anywhere(identity):
    """A token for all rooms, which LiveKit's package does not make."""
    claims = {"iss": KEY, "sub": identity, "exp": int(time.time()) + 600, "video": {"roomJoin": True}}
    return jwt.encode(claims, SECRET, "HS256")


OFFER = """v=0\r
o=- 1 1 IN IP4 0.0.0.0\r
s=-\r
t=0 0\r
a=group:BUNDLE 0\r
m=video 9 UDP/TLS/RTP/SAVPF 96\r
c=IN IP4 0.0.0.0\r
a=mid:0\r
a=sendonly\r
a=rtcp-mux\r
a=setup:actpass\r
a=ice-ufrag:abcd\r
a=ice-pwd:abcdefghijklmnopqrstuvwx\r
a=fingerprint:sha-256 """ + ":".join(["00"] * 32) + """\r
a=rtpmap:96 VP8/90000\r
"""


def test_what_is_not_as_it_should_be_is_refused(sfu, room):
    good = token(room, "obs")

    def status(offer=OFFER, path="/whip", bearer=good, **fields):
        return offer_to(sfu, path, offer, bearer, **fields).status

    assert status(bearer=None) == status(bearer="nonsense") == 401
    assert status(bearer=api.AccessToken("APIother", SECRET).with_identity("obs").to_jwt()) == 401
    assert status(bearer=token(room, "obs", can_publish=False)) == 403
    assert status(bearer=token(room, "obs", can_publish_sources=["microphone"])) == 403
    assert status(path="/whip/another") == 403
    outsider = api.AccessToken(KEY, SECRET).with_identity("obs").with_grants(api.VideoGrants(room=room))
    assert status(bearer=outsider.to_jwt()) == 403
    assert status(bearer=anywhere("obs")) == 400
    assert status(content_type="text/plain") == 415
    assert status("") == status("v=0\r\n") == 400
    assert status(OFFER + "a=x:" + "x" * (256 << 10)) == 413
    assert status(OFFER.replace("VP8/90000", "XP8/90000")) == 422
    assert status(OFFER.replace("sendonly", "recvonly")) == 422
    assert ask(sfu, "DELETE", "/whip/sessions/nothing", token=good).status == 404
    response = ask(sfu, "PUT", "/whip", token=good)
    assert response.status == 405 and response.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    # There is nothing to see, for whoever asks.
    assert ask(sfu, "GET", "/whip").status == ask(sfu, "GET", "/whep/sessions/nothing").status == 204
    # Nobody has come, and no room began.
    assert service(sfu, "ListRooms", {"names": [room]}, room_list=True) == {"rooms": []}


def test_pages_of_other_origins_may_publish(sfu, room):
    asked = ask(
        sfu, "OPTIONS", "/whip", Origin="https://elsewhere.example", Access_Control_Request_Method="POST",
        Access_Control_Request_Headers="authorization,content-type,traceparent")
    assert asked.status == 204 and asked.headers["Access-Control-Allow-Origin"] == "*"
    assert asked.headers["Accept-Post"] == SDP
    assert asked.headers["Access-Control-Allow-Headers"] == "authorization,content-type,traceparent"
    bearer = token(room, "obs")
    answered = offer_to(sfu, "/whip", OFFER, bearer)
    readable = answered.headers["Access-Control-Expose-Headers"]
    assert answered.status == 201 and "Location" in readable and "Retry-After" in readable
    asked = ask(sfu, "OPTIONS", answered.headers["Location"])
    assert asked.status == 204 and asked.headers["Accept-Patch"] == FRAGMENT
    assert "If-Match" in asked.headers["Access-Control-Allow-Headers"]
    assert ask(sfu, "DELETE", answered.headers["Location"], token=bearer).status == 200


def test_a_room_may_be_in_the_path_where_the_token_leaves_it_open(sfu, room):
    bearer = anywhere("obs")
    response = offer_to(sfu, f"/whip/{room.replace(' ', '%20')}", OFFER, bearer)
    assert response.status == 201, response
    there = service(sfu, "ListParticipants", {"room": room})["participants"]
    assert [one["identity"] for one in there] == ["obs"]
    assert ask(sfu, "DELETE", response.headers["Location"], token=bearer).status == 200


def test_sessions_are_counted_and_nothing_is_kept_of_them(sfu, room, aiortc):
    name = 'roost_livekit_http_sessions{kind="whip"}'
    obs = aiortc("/whip", "obs", "--publish", "VP8")
    obs.wait_connected()
    # Those of other tests go when their media are missed.
    before = sfu.metrics()[name]
    assert before >= 1
    obs.session.end()
    assert sfu.metrics()[name] < before
    wait_until(lambda: sfu.metrics()[name] == 0, "the last session is over")
    sfu.wait_empty()


def test_servers_of_turn_are_named_where_there_are_any():
    namespace = Namespace().add_interface()
    server = Server(namespace, "--turn", "--turn-port", 0)
    try:
        links = offer_to(server, "/whip", OFFER, token("room", "obs")).headers.get_all("Link")
        assert links and all('rel="ice-server"' in link and 'credential-type="password"' in link for link in links)
        assert any(link.startswith("<turn:") for link in links)
    finally:
        server.close()
        namespace.close()
