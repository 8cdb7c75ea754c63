"""What `roost serve --apns-key` pushes to devices, seen by a service that checks it as Apple's does."""

import secrets
import time

import pytest

from peers.apns import Answer, TOPIC
from peers.chat import Chat, done, refused
from peers.devices import marked, passed, register
from support.command import RoostProcesses, fails, run
from support.waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def chat(tmp_path_factory, apns):
    """As everywhere, with pushing."""
    processes = RoostProcesses()
    folder = tmp_path_factory.mktemp("chat")
    yield Chat(processes.serve("--data", folder, *apns.options), folder)
    processes.close()


def settings(person, **changes):
    usual = {"push_when": "away", "show_preview": True}
    return done(person.put("/users/me/notifications", **usual | changes))


@pytest.fixture
def pair(team):
    """Ann and Bob in a direct message, Bob with a device: both, the channel, the workspace, the device's token."""
    ann, bob, workspace = team
    return ann, bob, ann.direct(workspace, bob), workspace, register(bob)


# What is pushed


def test_a_direct_message_rings_with_who_where_what_and_the_icons_number(apns, pair):
    ann, _, channel, workspace, token = pair
    first = ann.say(channel, "Are you there?")
    push, = apns.wait(token)
    assert push.aps == {
        "alert": {"title": "Ann", "body": "Are you there?"}, "badge": 1, "sound": "default", "thread-id": channel,
        "category": "MESSAGE", "mutable-content": 1,
    }
    del push.body["aps"]
    assert push.body == {
        "event": "message_sent", "workspace_id": workspace, "channel_id": channel, "message_id": first["id"]}
    assert push.headers["apns-push-type"] == "alert" and push.headers["apns-priority"] == "10"
    assert push.headers["apns-collapse-id"] == first["id"]
    assert 86_000 < int(push.headers["apns-expiration"]) - time.time() < 86_401
    ann.say(channel, "Hello?")
    assert apns.wait(token, 2)[1].aps["badge"] == 2


def test_a_channel_rings_as_it_is_set(apns, team):
    ann, bob, workspace = team
    token, channel, aside = register(bob), ann.channel(workspace), ann.direct(workspace, bob)
    done(bob.post(f"/channels/{channel}/join"))
    done(bob.put(f"/channels/{channel}/notifications", notifications="mentions"), 204)
    ann.say(channel, "nothing for anybody")
    ann.say(channel, f"@{bob.username} look")
    ann.say(channel, "@channel look, all of you")
    apns.wait(token, 2)
    done(bob.put(f"/channels/{channel}/notifications", notifications="none"), 204)
    ann.say(channel, f"@{bob.username} into the void")
    pushes = marked(apns, token, ann, aside)
    name = done(ann.get(f"/channels/{channel}"))["channel"]["name"]
    alerts = [push for push in pushes if "alert" in push.aps]
    assert {push.aps["alert"]["body"] for push in alerts} == {f"@{bob.username} look", "@channel look, all of you"}
    assert all(push.aps["alert"]["subtitle"] == f"#{name}" for push in alerts)
    # What is muted is unread no more.
    assert [push.aps for push in pushes if push not in alerts] == [{"badge": 0}]
    assert sorted(push.aps["badge"] for push in pushes)[-1] == 2
    done(bob.put(f"/channels/{channel}/notifications", notifications="all"), 204)
    ann.say(channel, "again for everybody")
    wait_until(lambda: any("again for everybody" in str(push.body) for push in apns.to(token)), "the push")


def test_here_calls_who_is_there_and_nobody_else(chat, apns, team):
    ann, bob, workspace = team
    cid = chat.person("cid")
    ann.bring(workspace, cid)
    channel, tokens = ann.channel(workspace), {person: register(person) for person in (bob, cid)}
    for person in (bob, cid):
        done(person.post(f"/channels/{channel}/join"))
        done(person.put(f"/channels/{channel}/notifications", notifications="mentions"), 204)
    socket = bob.socket()
    done(bob.patch("/users/me", status="away"))
    ann.say(channel, "@here look")
    push, = apns.wait(tokens[bob])
    assert push.aps["alert"]["body"] == "@here look" and push.aps["badge"] == 1
    socket.close()
    passed(chat, apns, ann, workspace)
    assert apns.to(tokens[cid]) == []
    counts = [done(person.get(f"/channels/{channel}"))["membership"] for person in (bob, cid)]
    assert [(count["unread"], count["mentions"]) for count in counts] == [(1, 1), (1, 0)]


def test_a_thread_rings_for_who_has_written_in_it(apns, team):
    ann, bob, workspace = team
    token, channel, aside = register(bob), ann.channel(workspace), ann.direct(workspace, bob)
    done(bob.post(f"/channels/{channel}/join"))
    mine, hers = bob.say(channel, "how?"), ann.say(channel, "news")
    apns.wait(token)
    answer = ann.say(channel, "so", thread_id=mine["id"])
    ann.say(channel, "more news", thread_id=hers["id"])
    pushes = marked(apns, token, ann, aside)
    assert [push.body["message_id"] for push in pushes] == [hers["id"], answer["id"]]
    assert pushes[1].body["thread_id"] == mine["id"]


def test_quiet_hours_hold_messages_back(chat, apns, pair):
    ann, bob, channel, workspace, token = pair
    quiet = {"from": "00:00", "to": "00:00", "time_zone": "Europe/Berlin"}
    assert settings(bob, quiet_hours=quiet)["quiet_hours"] == quiet
    ann.say(channel, "at night")
    ann.say(channel, "at night again")
    passed(chat, apns, ann, workspace)
    assert "quiet_hours" not in settings(bob)
    assert [push.aps["alert"]["body"] for push in marked(apns, token, ann, channel)] == []


def test_without_preview_there_is_a_message_and_no_more(apns, pair):
    ann, bob, channel, _, token = pair
    settings(bob, show_preview=False)
    sent = ann.say(channel, "a surprise")
    push, = apns.wait(token)
    assert push.aps["alert"] == {"body": "New message"} and push.aps["badge"] == 1
    assert push.body["message_id"] == sent["id"] and "surprise" not in str(push.body) and "Ann" not in str(push.body)


def test_who_is_connected_hears_by_the_socket_unless_away_or_always(chat, apns, pair):
    ann, bob, channel, workspace, token = pair
    socket = bob.socket()
    said = ann.say(channel, "to the socket")
    socket.wait_for("message_sent", id=said["id"])
    passed(chat, apns, ann, workspace)
    done(bob.patch("/users/me", status="away"))
    assert marked(apns, token, ann, channel) == []
    done(bob.patch("/users/me", status="online"))
    settings(bob, push_when="always")
    assert marked(apns, token, ann, channel) == apns.to(token)[:2]
    settings(bob, push_when="never")
    socket.close()
    ann.say(channel, "to nobody")
    passed(chat, apns, ann, workspace)
    settings(bob)
    assert not any("to nobody" in str(push.body) for push in marked(apns, token, ann, channel))


def test_a_long_message_is_shortened(apns, pair):
    ann, _, channel, _, token = pair
    ann.say(channel, "👩‍👩‍👧‍👦" * 1_000)
    push, = apns.wait(token)
    body = push.aps["alert"]["body"]
    assert body == "👩‍👩‍👧‍👦" * ((len(body) - 1) // 7) + "…"


def test_what_was_read_elsewhere_takes_the_number_from_the_icon(apns, pair):
    ann, bob, channel, _, token = pair
    sent = ann.say(channel, "read this")
    apns.wait(token)
    done(bob.put(f"/channels/{channel}/read", last_read=sent["sequence"]), 204)
    push = apns.wait(token, 2)[1]
    assert push.body == {"aps": {"badge": 0}} and push.headers["apns-priority"] == "5"


# Devices


def test_devices_are_listed_without_their_tokens_and_removed(chat, apns):
    ann = chat.person("ann")
    token, voip = secrets.token_hex(32), secrets.token_hex(32)
    register(ann, token, name="Ann's phone")
    register(ann, token.upper(), voip_token=voip)
    answer = ann.get("/users/me/devices")
    device, = done(answer)["items"]
    assert device["has_alert_token"] and device["has_voip_token"] and device["is_current"]
    assert device["name"] == "Ann's phone" and device["app_id"] == TOPIC
    assert token not in answer.text and voip not in answer.text
    refused(chat.person("bob").delete(f"/users/me/devices/{device['id']}"), 404, "device_not_found")
    done(ann.delete(f"/users/me/devices/{device['id']}"), 204)
    assert done(ann.get("/users/me/devices"))["items"] == []


@pytest.mark.parametrize("changes, code", [
    ({"alert_token": "abc"}, "invalid_alert_token"), ({"alert_token": "zz" * 32}, "invalid_alert_token"),
    ({"alert_token": "ab" * 201}, "invalid_alert_token"), ({"voip_token": "ab"}, "invalid_voip_token"),
    ({"alert_token": None}, "invalid_alert_token"), ({"app_id": "../x"}, "invalid_app_id"),
    ({"platform": "android"}, "invalid_body"), ({"environment": "test"}, "invalid_body"),
])
def test_what_is_no_device_is_refused(chat, changes, code):
    body = {"platform": "ios", "app_id": TOPIC, "environment": "production", "alert_token": "ab" * 32} | changes
    refused(chat.person("ann").post("/users/me/devices", **body), 400, code)


@pytest.mark.parametrize("quiet, code", [
    ({"from": "22:00", "to": "24:00", "time_zone": "Europe/Berlin"}, "invalid_body"),
    ({"from": "22:00", "to": "07:00", "time_zone": "Europe/Atlantis"}, "invalid_time_zone"),
    ({"from": "22:00", "to": "07:00", "time_zone": "Europe/Berlin", "days": []}, "invalid_days"),
    ({"from": "22:00", "to": "07:00", "time_zone": "Europe/Berlin", "days": ["someday"]}, "invalid_body"),
])
def test_what_are_no_quiet_hours_is_refused(chat, quiet, code):
    ann = chat.person("ann")
    body = {"push_when": "away", "show_preview": True, "quiet_hours": quiet}
    refused(ann.put("/users/me/notifications", **body), 400, code)
    assert done(ann.get("/users/me/notifications")) == {"push_when": "away", "show_preview": True}


def test_a_device_that_is_logged_out_gets_nothing_more(chat, apns, pair):
    ann, bob, channel, workspace, token = pair
    tablet = bob.on_another_device()
    other = register(tablet)
    ann.say(channel, "to both")
    apns.wait(token), apns.wait(other)
    session = next(one for one in done(bob.get("/auth/sessions"))["items"] if not one["is_current"])
    done(bob.delete(f"/auth/sessions/{session['id']}"), 204)
    marked(apns, token, ann, channel)
    assert len(apns.to(other)) == 1
    done(bob.post("/auth/logout_all"), 204)
    count = len(apns.to(token))
    ann.say(channel, "to none")
    passed(chat, apns, ann, workspace)
    assert (len(apns.to(token)), len(apns.to(other))) == (count, 1)


def test_a_token_goes_with_who_logs_in_last(chat, apns, pair):
    ann, bob, channel, workspace, token = pair
    cid = chat.person("cid")
    ann.bring(workspace, cid)
    register(cid, token)
    assert done(bob.get("/users/me/devices"))["items"] == []
    ann.say(channel, "for Bob alone")
    assert marked(apns, token, ann, ann.direct(workspace, cid)) == []


# What the service answers


def test_a_token_that_is_gone_is_taken_out_and_one_that_came_back_is_not(apns, pair):
    ann, bob, channel, _, token = pair
    apns.answer(token, Answer(410, "Unregistered", timestamp=int(time.time() - 3_600) * 1_000))
    ann.say(channel, "one")
    apns.wait(token)
    marked(apns, token, ann, channel)
    assert len(done(bob.get("/users/me/devices"))["items"]) == 1
    apns.answer(token, Answer(410, "Unregistered", timestamp=int(time.time() + 60) * 1_000))
    ann.say(channel, "two")
    wait_until(lambda: done(bob.get("/users/me/devices"))["items"] == [], "the device is gone")


@pytest.mark.parametrize("reason", ["BadDeviceToken", "DeviceTokenNotForTopic"])
def test_a_token_that_is_none_is_taken_out(apns, pair, reason):
    ann, bob, channel, _, token = pair
    apns.answer(token, Answer(400, reason))
    ann.say(channel, "one")
    wait_until(lambda: done(bob.get("/users/me/devices"))["items"] == [], "the device is gone")
    assert len(apns.to(token)) == 1


@pytest.mark.parametrize("answer, least", [
    (Answer(503, "ServiceUnavailable"), 0.7), (Answer(500, "InternalServerError"), 0.7),
    (Answer(429, "TooManyRequests", retry_after=4), 3.9),
], ids=["503", "500", "429"])
def test_what_the_service_cannot_take_now_comes_again_later(apns, pair, answer, least):
    ann, _, channel, _, token = pair
    apns.answer(token, answer)
    ann.say(channel, "please")
    first, second = apns.wait(token, 2)
    assert first.id == second.id and first.body == second.body
    assert second.at - first.at >= least
    assert len(marked(apns, token, ann, channel)) == 2


def test_what_was_deleted_or_edited_meanwhile_comes_again_as_it_is(apns, pair):
    ann, _, channel, _, token = pair
    apns.answer(token, *[Answer(503, "ServiceUnavailable", retry_after=4) for _ in range(2)])
    gone, kept = ann.say(channel, "gone"), ann.say(channel, "as it was")
    apns.wait(token, 2)
    done(ann.delete(f"/messages/{gone['id']}"), 204)
    done(ann.patch(f"/messages/{kept['id']}", content="as it is"))
    again = apns.wait(token, 3)[2]
    assert again.body["message_id"] == kept["id"] and again.aps["alert"]["body"] == "as it is"
    assert again.aps["badge"] == 1
    assert not [push for push in marked(apns, token, ann, channel)[2:] if push.body["message_id"] == gone["id"]]


def test_what_is_refused_for_good_is_not_repeated(apns, pair):
    ann, bob, channel, _, token = pair
    apns.answer(token, Answer(413, "PayloadTooLarge"))
    ann.say(channel, "one")
    apns.wait(token)
    assert len(marked(apns, token, ann, channel)) == 1
    assert len(done(bob.get("/users/me/devices"))["items"]) == 1


def test_a_connection_that_goes_takes_nothing_with_it(apns, pair):
    ann, _, channel, _, token = pair
    apns.answer(token, Answer(goaway=True))
    ann.say(channel, "one")
    first, second = apns.wait(token, 2)
    assert first.id == second.id and first.connection != second.connection
    apns.answer(token, Answer(last=True))
    ann.say(channel, "two")
    third = apns.wait(token, 3)[2]
    ann.say(channel, "three")
    last = apns.wait(token, 4)[3]
    assert last.aps["alert"]["body"] == "three" and last.connection != third.connection


def test_who_is_answered_slowly_holds_nobody_up(chat, apns, pair):
    ann, bob, channel, workspace, token = pair
    other = register(bob.on_another_device())
    apns.answer(token, *[Answer(delay=30) for _ in range(3)])
    for number in range(3):
        ann.say(channel, f"number {number}")
    began = time.monotonic()
    # Neither others nor one's own next ones.
    assert max(push.at for push in apns.wait(other, 3) + apns.wait(token, 3)) - began < 25


def test_a_provider_token_that_is_too_old_is_made_anew(apns, pair):
    ann, _, channel, _, token = pair
    apns.answer(token, Answer(403, "ExpiredProviderToken"))
    ann.say(channel, "one")
    first, second = apns.wait(token, 2)
    assert first.headers["authorization"] != second.headers["authorization"] and first.id == second.id
    marked(apns, token, ann, channel)
    assert {push.headers["authorization"] for push in apns.to(token)[1:]} == {second.headers["authorization"]}


def test_what_has_become_of_pushes_is_counted(chat, apns, pair):
    ann, _, channel, _, token = pair
    apns.answer(token, Answer(413, "PayloadTooLarge"))
    ann.say(channel, "one")
    marked(apns, token, ann, channel)

    def metrics():
        text = ann.session.get(f"{chat.process.url}/metrics", timeout=PATIENCE).text
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("roost_push_"))

    wait_until(lambda: metrics()["roost_push_in_flight"] == "0", metrics)
    assert int(metrics()['roost_push_sent_total{kind="alert"}']) >= 2
    assert int(metrics()['roost_push_failed_total{reason="PayloadTooLarge"}']) >= 1
    log = "".join(chat.process.text)
    assert token not in log and "mark " not in log


# Servers that come and go


def test_a_push_that_was_not_taken_goes_on_after_a_kill(apns, roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path, *apns.options), tmp_path)
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    channel, token = ann.direct(workspace, bob), register(bob)
    taken = ann.say(channel, "taken")["sequence"]
    apns.wait(token)
    # How far it has come is written down once a second.
    position = "SELECT sequence FROM push_positions"
    wait_until(lambda: (chat.ask(position) or (0,))[0] >= taken, "it is written down")
    apns.answer(token, Answer(503, "Shutdown", retry_after=3_600))
    sent = ann.say(channel, "not taken")
    apns.wait(token, 2)
    chat.process.kill()
    chat.process.wait()

    chat.process = roost.serve("--data", tmp_path, *apns.options)
    pushes = apns.wait(token, 3)
    assert [push.aps["alert"]["body"] for push in pushes] == ["taken", "not taken", "not taken"]
    # On the device the second takes the place of the first.
    assert {push.headers["apns-collapse-id"] for push in pushes[1:]} == {sent["id"]}


def test_what_was_written_before_pushing_began_is_pushed_once(apns, roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path), tmp_path)
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    channel, token = ann.direct(workspace, bob), register(bob)
    ann.say(channel, "before")
    for _ in range(2):
        assert chat.process.finish() == 0
        chat.process = roost.serve("--data", tmp_path, *apns.options)
        apns.wait(token)
    chat.url = f"{chat.process.url}/api/v1"
    assert [push.aps["alert"]["body"] for push in marked(apns, token, ann, channel)] == ["before"]


def test_a_number_of_a_server_before_goes_when_everything_is_read(apns, roost, tmp_path):
    chat = Chat(roost.serve("--data", tmp_path, *apns.options), tmp_path)
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    channel, token = ann.direct(workspace, bob), register(bob)
    sent = ann.say(channel, "read this")
    assert apns.wait(token)[0].aps["badge"] == 1
    assert chat.process.finish() == 0
    chat.process = roost.serve("--data", tmp_path, *apns.options)
    chat.url = f"{chat.process.url}/api/v1"
    done(bob.put(f"/channels/{channel}/read", last_read=sent["sequence"]), 204)
    assert apns.wait(token, 2)[1].body == {"aps": {"badge": 0}}


def test_a_call_that_ends_with_the_server_is_told_of_as_missed(apns, roost, join_call, tmp_path):
    rooms = ("--rooms", "--media-port", 0, "--media-tcp-port", 0)
    chat = Chat(roost.serve("--data", tmp_path, *rooms, *apns.options), tmp_path)
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    ann.bring(workspace, bob)
    token = register(bob)
    ticket = done(ann.post(f"/workspaces/{workspace}/calls", user_id=bob.id), 201)
    join_call(ticket, "Ann")
    apns.wait(token)
    assert chat.process.finish() == 0
    rung, missed = apns.wait(token, 2)
    assert missed.headers["apns-collapse-id"] == rung.headers["apns-collapse-id"]
    assert missed.body["event"] == "call_missed", missed.body


# The command line


def test_options_that_do_not_go_together_are_refused(apns, tmp_path):
    for arguments, says in [
        (("--data", tmp_path, *apns.options[:2]), "belong together"), (apns.options, "--apns-key needs --data"),
        (("--data", tmp_path, *apns.options[:9], "http://localhost:1", *apns.options[10:]), "--apns-url takes"),
    ]:
        done = run("serve", *arguments)
        assert done.returncode == 64 and says in done.stderr, done.stderr
    other = tmp_path / "other.p8"
    other.write_text("no key")
    options = ["--apns-key", other, *apns.options[2:]]
    fails("serve", "--port", 0, "--signaling-port", 0, "--no-echo", "--data", tmp_path / "a", *options,
          says="no private key")
    options = ["--apns-key", tmp_path / "missing.p8", *apns.options[2:]]
    fails("serve", "--port", 0, "--signaling-port", 0, "--no-echo", "--data", tmp_path / "b", *options,
          says="cannot be read")
    options = [*apns.options[:-1], other]
    fails("serve", "--port", 0, "--signaling-port", 0, "--no-echo", "--data", tmp_path / "c", *options,
          says="certificates")
