"""Chat of `roost serve --data` through HTTP and WebSocket alone: what people do, and what the others see of it."""

import threading
import time
from urllib.parse import quote

from peers.chat import check_order, done, fence, refused


# Coming together


def test_an_account_a_workspace_a_link_and_somebody_who_follows_it(chat):
    ann, bob = chat.person("ann"), chat.person("bob")
    me = done(ann.get("/users/me"))
    assert me["email"] == ann.email and me["profile"]["username"] == ann.username
    made = ann.workspace("Analytical Engines")
    assert made["role"] == "owner" and made["workspace"]["slug"].startswith(("analytical-engines", "w-"))
    workspace = made["workspace"]["id"]
    refused(bob.get(f"/workspaces/{workspace}"), 404, "workspace_not_found")
    refused(bob.get(f"/users/{ann.id}"), 404, "user_not_found")

    with_ann = ann.socket()
    token = ann.invite(workspace, maximum_uses=1)
    preview = done(chat.stranger().post("/invitations/preview", token=token))
    assert preview == {"workspace_name": "Analytical Engines", "role": "member"}
    with_bob = bob.socket()
    accepted = done(bob.post("/invitations/accept", token=token))
    assert accepted["role"] == "member" and accepted["workspace"]["id"] == workspace
    # His socket follows the workspace from then on, without his doing.
    with_bob.wait_for("following", workspace_id=workspace)
    joined = with_ann.wait_for("member_joined")
    assert joined["data"]["user"]["id"] == bob.id and joined["workspace_id"] == workspace
    assert done(bob.get(f"/users/{ann.id}"))["username"] == ann.username
    refused(chat.person("cid").post("/invitations/accept", token=token), 410, "invitation_over")
    names = [member["user"]["username"] for member in done(bob.get(f"/workspaces/{workspace}/members"))["items"]]
    assert names == sorted([ann.username, bob.username])


def test_an_invitation_for_an_address_and_one_with_the_account(chat):
    ann, bob = chat.person("ann"), chat.person("bob")
    workspace = ann.workspace()["workspace"]["id"]
    token, sent = chat.link("invitation", lambda: ann.invite(workspace, email=bob.email))
    assert sent == token
    refused(chat.person("cid").post("/invitations/accept", token=token), 403, "other_address")
    done(bob.post("/invitations/accept", token=token))
    dan = chat.person("dan", invitation=ann.invite(workspace))
    assert [one["workspace"]["id"] for one in done(dan.get("/workspaces"))["items"]] == [workspace]


def test_a_link_that_was_in_no_letter_and_a_new_password(chat):
    ann, secret = chat.link("verify-email", lambda: chat.person("ann"))
    done(chat.stranger().post("/auth/verify_email", token=secret), 204)
    # Nobody has read a letter at the address.
    assert not done(ann.get("/users/me"))["is_email_verified"]
    socket = ann.socket()
    stranger = chat.stranger()
    answer, secret = chat.link(
        "reset-password", lambda: stranger.post("/auth/forgot_password", email=ann.email.upper()))
    done(answer, 202)
    done(stranger.post("/auth/reset_password", token=secret, password="another password"), 204)
    assert socket.wait_closed() == 4001
    refused(ann.get("/users/me"), 401, "session_over")
    refused(stranger.post("/auth/reset_password", token=secret, password="a third password"), 410, "link_used")
    done(ann.post("/auth/login", login=ann.email, password="another password"))


# Writing


def test_what_is_written_is_seen_by_the_other_in_its_order(team):
    ann, bob, workspace = team
    channel = ann.channel(workspace)
    with_ann, with_bob = ann.socket(), bob.socket()
    listing = done(bob.post(f"/channels/{channel}/join"))
    assert listing["member_count"] == 2 and listing["membership"]["unread"] == 0

    first = bob.say(channel, f"@{ann.username} how does it repeat a set of cards?")
    assert first["mentions"]["user_ids"] == [ann.id]
    told = with_ann.wait_for("message_sent", id=first["id"])
    assert told["data"] == first and told["sequence"] == first["sequence"]
    place = done(ann.get(f"/channels/{channel}"))["membership"]
    assert (place["unread"], place["mentions"]) == (1, 1)

    answer = ann.say(channel, "It winds back.", thread_id=first["id"])
    with_bob.wait_for("message_sent", id=answer["id"], thread_id=first["id"])
    replies = done(bob.get(f"/messages/{first['id']}/replies"))["items"]
    assert [reply["id"] for reply in replies] == [answer["id"]]
    assert [message["id"] for message in bob.history(channel)] == [first["id"]]

    emoji = quote("👍🏽")
    for _ in range(2):
        reacted = done(ann.put(f"/messages/{first['id']}/reactions/{emoji}"))
    assert reacted["reactions"] == [{"emoji": "👍🏽", "count": 1, "user_ids": [ann.id]}]
    assert with_bob.wait_for("reaction_added")["data"]["reaction"]["emoji"] == "👍🏽"
    assert done(ann.delete(f"/messages/{first['id']}/reactions/{emoji}"))["reactions"] == []
    assert with_bob.wait_for("reaction_removed")["data"]["reaction"]["count"] == 0

    got = ann.get(f"/messages/{answer['id']}")
    tag = got.headers["ETag"]
    edited = ann.patch(f"/messages/{answer['id']}", version=tag, content="It winds back, and does them again.")
    assert done(edited)["edited_at"] and edited.headers["ETag"] != tag
    with_bob.wait_for("message_edited", content="It winds back, and does them again.")
    refused(ann.patch(f"/messages/{answer['id']}", version=tag, content="late"), 412, "outdated")
    refused(bob.patch(f"/messages/{answer['id']}", content="not mine"), 403, "not_yours")

    done(bob.put(f"/messages/{answer['id']}/pin"))
    with_ann.wait_for("message_pinned", id=answer["id"])
    assert [pin["id"] for pin in done(ann.get(f"/channels/{channel}/pins"))["items"]] == [answer["id"]]
    done(bob.delete(f"/messages/{answer['id']}/pin"))
    with_ann.wait_for("message_unpinned", id=answer["id"])

    done(ann.delete(f"/messages/{answer['id']}"), 204)
    with_bob.wait_for("message_deleted", message_id=answer["id"])
    refused(bob.patch(f"/messages/{answer['id']}", content="late"), 403, "not_yours")
    assert "winds back" not in bob.get(f"/workspaces/{workspace}/events", after=0).text
    fence(ann, channel, with_ann, with_bob)
    for socket in (with_ann, with_bob):
        check_order(socket, workspace)
    # Of the two the one who wrote sees it as the other does: at all devices it is the same.
    kept = done(bob.get(f"/workspaces/{workspace}/events", after=first["sequence"] - 1))["events"]
    seen = [event for event in with_ann.events(workspace) if event["sequence"] >= first["sequence"]]
    assert kept == [event for event in seen if event["data"].get("id") != answer["id"]]


def test_sending_twice_is_sending_once(team):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    first = ann.say(channel, "once", client_id="a-name")
    again = ann.post(f"/channels/{channel}/messages", content="twice", client_id="a-name")
    assert done(again, 200) == first
    socket = ann.socket()
    assert socket.ask("send_message", channel_id=channel, content="thrice", client_id="a-name")["data"] == first
    assert bob.say(channel, "mine", client_id="a-name")["id"] != first["id"]
    assert [message["content"] for message in ann.history(channel)] == ["once", "mine"]


def test_mentions_are_counted_until_they_are_read(team):
    ann, bob, workspace = team
    channel = ann.general(workspace)

    def counts(person):
        place = done(person.get(f"/channels/{channel}"))["membership"]
        return place["unread"], place["mentions"]

    first = ann.say(channel, f"@{bob.username} and `@{ann.username}`, and @nobody")
    ann.say(channel, f"@{ann.username} is me")
    assert counts(bob) == (2, 1) and counts(ann) == (0, 0)
    inside = ann.say(channel, f"@{bob.username} in a thread", thread_id=first["id"])
    # Threads are not of the channel's own count.
    assert counts(bob) == (2, 1)
    done(bob.put(f"/channels/{channel}/read", last_read=inside["sequence"]), 204)
    assert counts(bob) == (0, 0)
    again = ann.say(channel, "@channel")
    assert counts(bob) == (1, 1)
    done(ann.delete(f"/messages/{again['id']}"), 204)
    assert counts(bob) == (0, 0)


def test_people_are_found_by_how_their_names_begin(team):
    ann, bob, workspace = team
    done(bob.patch("/users/me", display_name="Ünal Österreicher"))
    for prefix in (bob.username[:2], bob.username.upper(), "Ün", "ün"):
        found = done(ann.get(f"/workspaces/{workspace}/members", prefix=prefix))["items"]
        assert [member["user"]["id"] for member in found] == [bob.id], prefix
    assert done(ann.get(f"/workspaces/{workspace}/members", prefix="nal"))["items"] == []


def test_a_private_channel_is_not_there_for_others(team):
    ann, bob, workspace = team
    private, general = ann.channel(workspace, kind="private"), ann.general(workspace)
    with_bob = bob.socket()
    message = ann.say(private, "between us")
    for answer in (bob.get(f"/channels/{private}"), bob.post(f"/channels/{private}/join"),
                   bob.get(f"/channels/{private}/messages"), bob.put(f"/channels/{private}/read", last_read=1)):
        refused(answer, 404, "channel_not_found")
    refused(bob.get(f"/messages/{message['id']}"), 404, "message_not_found")
    for frame in ("join_channel", "typing"):
        assert with_bob.ask(frame, channel_id=private)["data"]["code"] == "channel_not_found"
    fence(ann, general, with_bob)
    assert not any(private in str(frame) for frame in with_bob.frames), with_bob.transcript()
    done(ann.post(f"/channels/{private}/members", user_id=bob.id), 204)
    joined = with_bob.wait_for("channel_joined")["data"]
    assert joined["channel"]["id"] == private and joined["user"]["id"] == bob.id
    ann.say(private, "welcome")
    with_bob.wait_for("message_sent", content="welcome")


def test_a_workspace_and_settings_are_changed_by_the_version_that_was_seen(team):
    ann, bob, workspace = team
    tag = bob.get(f"/workspaces/{workspace}").headers["ETag"]
    named = ann.patch(f"/workspaces/{workspace}", version=tag, name="Quay")
    assert done(named)["workspace"]["name"] == "Quay" and named.headers["ETag"] != tag
    refused(ann.patch(f"/workspaces/{workspace}", version=tag, name="Pier"), 412, "outdated")
    assert done(ann.get(f"/workspaces/{workspace}"))["workspace"]["name"] == "Quay"
    done(ann.patch(f"/workspaces/{workspace}", name="Pier"))

    phone = {"push_when": "always", "show_preview": True}
    tag = bob.get("/users/me/notifications").headers["ETag"]
    said = bob.put("/users/me/notifications", version=tag, **phone)
    assert done(said) == phone and said.headers["ETag"] != tag
    refused(bob.put("/users/me/notifications", version=tag, **phone | {"push_when": "never"}), 412, "outdated")
    assert done(bob.get("/users/me/notifications")) == phone
    done(bob.put("/users/me/notifications", version="*", **phone | {"push_when": "away"}))


def test_a_channel_is_changed_by_the_version_that_was_seen(team):
    ann, bob, workspace = team
    channel = ann.channel(workspace)
    tag = bob.get(f"/channels/{channel}").headers["ETag"]
    done(ann.patch(f"/channels/{channel}", version=tag, topic="wheels"))
    refused(ann.patch(f"/channels/{channel}", version=tag, topic="cogs"), 412, "outdated")
    done(ann.patch(f"/channels/{channel}", version="*", topic="cogs"))
    done(ann.post(f"/channels/{channel}/archive"))
    refused(ann.post(f"/channels/{channel}/messages", content="late"), 409, "channel_archived")
    done(ann.post(f"/channels/{channel}/unarchive"))
    ann.say(channel, "open again")


# What passes


def test_typing_is_seen_by_the_other_and_ends_by_itself(team):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    with_ann, with_bob = ann.socket(), bob.socket()
    with_ann.send("typing", channel_id=channel)
    began = time.monotonic()
    seen = with_bob.wait_for("user_typing", channel_id=channel, user_id=ann.id)
    assert "sequence" not in seen
    assert with_ann.ask("stop_typing", channel_id=channel)["type"] == "ack"
    with_bob.wait_for("user_stopped_typing", channel_id=channel, user_id=ann.id)
    assert time.monotonic() - began < 6
    count = len(with_bob.frames)
    with_ann.send("typing", channel_id=channel)
    with_bob.wait_for("user_typing", after=count, channel_id=channel)
    with_bob.wait_for("user_stopped_typing", after=count, user_id=ann.id)
    assert not {"user_typing", "user_stopped_typing"} & set(with_ann.types())


def test_who_is_there_is_told_and_who_hides_is_not(team):
    ann, bob, workspace = team
    with_ann = ann.socket()
    assert with_ann.wait_for("following", workspace_id=workspace)["data"]["online"] == [ann.id]
    with_bob = bob.socket()
    with_ann.wait_for("presence_changed", user_id=bob.id, workspace_id=workspace, is_online=True)
    online = with_bob.wait_for("following", workspace_id=workspace)["data"]["online"]
    assert online == sorted([ann.id, bob.id])

    done(bob.patch("/users/me", status="offline", status_text="thinking"))
    with_ann.wait_for("presence_changed", user_id=bob.id, is_online=False)
    assert with_ann.wait_for("user_updated", id=bob.id)["data"]["status_text"] == "thinking"
    count = len(with_ann.frames)
    done(bob.patch("/users/me", status="busy"))
    with_ann.wait_for("presence_changed", after=count, user_id=bob.id, is_online=True)
    # Gone only when nobody has come back for a while: a train has tunnels.
    count = len(with_ann.frames)
    with_bob.close()
    with_ann.wait_for("presence_changed", after=count, user_id=bob.id, is_online=False)


def test_what_one_device_has_read_the_other_has(team):
    ann, bob, workspace = team
    channel = ann.general(workspace)
    messages = [ann.say(channel, f"number {number}") for number in range(3)]
    tablet = bob.on_another_device()
    phone, pad, other = bob.socket(), tablet.socket(), ann.socket()
    done(bob.put(f"/channels/{channel}/read", last_read=messages[1]["sequence"]), 204)
    for socket in (phone, pad):
        socket.wait_for("channel_read", channel_id=channel, last_read=messages[1]["sequence"])
    assert done(tablet.get(f"/channels/{channel}"))["membership"]["unread"] == 1
    assert pad.ask("mark_read", channel_id=channel, last_read=10**12)["type"] == "ack"
    phone.wait_for("channel_read", last_read=messages[2]["sequence"])
    later = bob.socket().wait_for("following", workspace_id=workspace)["data"]["read_marks"]
    assert {"channel_id": channel, "last_read": messages[2]["sequence"]} in later
    fence(ann, channel, other)
    assert "channel_read" not in other.types()


# Coming back, and going


def test_who_was_away_goes_on_without_a_gap_and_without_a_repeat(team):
    ann, bob, workspace = team
    channel, private = ann.general(workspace), ann.channel(workspace, kind="private")
    socket = bob.socket()
    seen = ann.say(channel, "seen")
    socket.wait_for("message_sent", id=seen["id"])
    newest = socket.events(workspace)[-1]["sequence"]
    socket.close()

    def talk(start):
        for number in range(start, start + 40):
            ann.say(private if number % 4 == 0 else channel, f"number {number}")

    talk(0)
    # While he comes back it goes on.
    speaking = threading.Thread(target=talk, args=(40,))
    speaking.start()
    back = bob.socket(resume={workspace: newest})
    speaking.join()
    fence(ann, channel, back)
    assert back.wait_for("resuming", workspace_id=workspace)["data"]["sequence"] == newest
    kept = done(bob.get(f"/workspaces/{workspace}/events", after=newest))
    came = back.events(workspace)
    assert came == kept["events"] and len(came) == 62
    following = back.wait_for("following", workspace_id=workspace)["data"]["sequence"]
    place = back.types().index("following")
    assert all(frame["sequence"] <= following for frame in back.frames[:place] if "sequence" in frame)
    assert all(frame["sequence"] > following for frame in back.frames[place + 1:] if "sequence" in frame)
    # The same by a frame, on a socket that is open.
    count = len(back.frames)
    assert back.ask("resume", workspaces={workspace: newest})["type"] == "ack"
    back.wait_for("following", after=count, workspace_id=workspace)
    assert [frame for frame in back.frames[count:] if "sequence" in frame] == came


def test_who_has_missed_what_was_never_there_reads_everything_anew(team):
    ann, _, workspace = team
    newest = done(ann.get(f"/workspaces/{workspace}"))["sequence"]
    socket = ann.socket(resume={workspace: newest + 1})
    assert socket.wait_for("reload_needed", workspace_id=workspace)["data"]["sequence"] == newest
    refused(ann.get(f"/workspaces/{workspace}/events", after=newest + 1), 410, "reload_needed")


def test_a_removed_member_gets_nothing_more(team, chat):
    ann, bob, workspace = team
    channel, cid = ann.general(workspace), chat.person("cid")
    ann.bring(workspace, cid)
    with_bob, with_cid = bob.socket(), cid.socket()
    done(ann.delete(f"/workspaces/{workspace}/members/{bob.id}"), 204)
    with_bob.wait_for("member_left", user_id=bob.id)
    count = len(with_bob.frames)
    fence(ann, channel, with_cid)
    with_bob.settle()
    assert [frame["type"] for frame in with_bob.frames[count:]] == ["pong"], with_bob.transcript()
    refused(bob.get(f"/channels/{channel}/messages"), 404, "channel_not_found")
    assert with_bob.ask("send_message", channel_id=channel, content="late")["data"]["code"] == "channel_not_found"


def test_logging_out_everywhere_closes_all_sockets(team):
    ann, bob, _ = team
    tablet = ann.on_another_device()
    sockets, other = [ann.socket(), tablet.socket()], bob.socket()
    devices = done(ann.get("/auth/sessions"))["items"]
    assert sorted((one["device"], one["is_current"]) for one in devices) == [
        ("a test", True), ("another device", False)]
    done(tablet.post("/auth/logout_all"), 204)
    assert [socket.wait_closed() for socket in sockets] == [4001, 4001]
    for person in (ann, tablet):
        refused(person.get("/users/me"), 401, "session_over")
        refused(person.post("/auth/refresh", refresh_token=person.refresh_token), 401, "session_over")
    other.settle()


def test_logging_one_device_out_leaves_the_other(team):
    ann = team[0]
    tablet = ann.on_another_device()
    here, there = ann.socket(), tablet.socket()
    current = next(one for one in done(tablet.get("/auth/sessions"))["items"] if one["is_current"])
    done(ann.delete(f"/auth/sessions/{current['id']}"), 204)
    assert there.wait_closed() == 4001
    here.settle()
