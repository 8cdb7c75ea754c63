"""Who tries to get into chat of `roost serve --data` without a key: forged tokens, stolen ones, guesses, floods."""

import base64
import concurrent.futures
import hashlib
import hmac
import json
import statistics
import time

import pytest
from livekit import api
from websockets.exceptions import InvalidStatus

from peers.chat import PASSWORD, STRANGERS_BURST, Chat, Socket, done, raw, refused
from support.command import RoostProcesses

NOBODY = "019396a8-0000-7000-8000-000000000000"


# Tokens


def part(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def sign(secret, claims, header=None, digest=hashlib.sha256):
    signed = f"{part(header or {'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}"
    return f"{signed}.{part(hmac.digest(secret.encode(), signed.encode(), digest))}"


def claims_of(token):
    middle = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))


def test_only_tokens_of_this_server_that_are_not_too_old_let_in(team, chat):
    ann, bob, _ = team
    secret, claims = chat.secret(), claims_of(ann.token)
    ours, now = {"alg": "HS256", "typ": "JWT"}, int(time.time())
    signature = ann.token.rsplit(".", 1)[1]
    assert done(ann.ask("GET", "/users/me", token=sign(secret, claims)))["profile"]["id"] == ann.id

    expired = sign(secret, claims | {"exp": now - 1})
    refused(ann.ask("GET", "/users/me", token=expired), 401, "token_expired")
    refused(ann.ask("GET", "/users/me", token=sign(secret, claims | {"sub": bob.id})), 401, "session_over")
    refused(ann.ask("GET", "/users/me", token=sign(secret, claims | {"sid": NOBODY})), 401, "session_over")
    grants = api.VideoGrants(room_join=True, room="1")
    livekit = api.AccessToken("roost-chat", secret).with_identity(ann.id).with_grants(grants).to_jwt()
    for token in (
        sign("another secret that is as long as the first is", claims), sign("", claims),
        f"{part(ours | {'alg': 'none'})}.{part(claims)}.", f"{part(ours | {'alg': 'none'})}.{part(claims)}.{signature}",
        sign(secret, claims, ours | {"alg": "HS512"}, hashlib.sha512), sign(secret, claims, ours | {"alg": "RS256"}),
        sign(secret, claims, ours | {"alg": "hs256"}), sign(secret, claims, ours | {"crit": ["exp"]}),
        sign(secret, claims | {"aud": "livekit"}), sign(secret, {"exp": now + 60}), sign(secret, b"{"),
        sign(secret, claims | {"exp": "tomorrow"}), sign(secret, claims | {"exp": 1e300}), livekit,
        ann.token + "x", ann.token[:-2], ann.token + "=", ann.token + ".", f".{ann.token}", "..", ".", "x" * 20_000,
        ann.refresh_token,
    ):
        answer = ann.ask("GET", "/users/me", token=token)
        refused(answer, 401, "bad_token")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("header", [
    None, "", "Bearer", "Bearer ", "Basic YW5uOmFubg==", "Token {}", "{}", "Bearer{}", 'Bearer token="{}"',
])
def test_a_request_that_does_not_say_who_asks_is_refused(team, chat, header):
    headers = {} if header is None else {"Authorization": header.format(team[0].token)}
    status, headers, body = raw(chat, "GET", "/api/v1/users/me", **headers)
    assert status == 401 and json.loads(body)["error"]["code"] in ("not_logged_in", "bad_token")
    assert headers["WWW-Authenticate"] == "Bearer"


def test_a_token_counts_in_the_header_alone_and_its_scheme_in_any_case(team, chat):
    token = team[0].token
    assert raw(chat, "GET", f"/api/v1/users/me?token={token}&access_token={token}")[0] == 401
    assert raw(chat, "GET", "/api/v1/users/me", Authorization=f"bEARER {token}")[0] == 200


# Refresh tokens


def test_a_refresh_token_that_was_used_before_ends_the_session(team, chat):
    ann = team[0]
    stolen, thief = ann.refresh_token, chat.stranger()
    ann.take(done(ann.post("/auth/refresh", refresh_token=stolen)))
    done(ann.get("/users/me"))
    socket = ann.socket()
    refused(thief.post("/auth/refresh", refresh_token=stolen), 401, "session_over")
    assert socket.wait_closed() == 4001
    refused(ann.get("/users/me"), 401, "session_over")
    refused(ann.post("/auth/refresh", refresh_token=ann.refresh_token), 401, "session_over")
    done(ann.log_in().get("/users/me"))


def test_a_refresh_token_from_long_before_ends_the_session(team, chat):
    ann = team[0]
    oldest = ann.refresh_token
    for _ in range(3):
        ann.take(done(ann.post("/auth/refresh", refresh_token=ann.refresh_token)))
        done(ann.get("/users/me"))
    refused(chat.stranger().post("/auth/refresh", refresh_token=oldest), 401, "session_over")
    refused(ann.get("/users/me"), 401, "session_over")


def test_a_refresh_whose_answer_was_lost_may_be_asked_for_once_more(team):
    ann = team[0]
    former = ann.refresh_token
    done(ann.post("/auth/refresh", refresh_token=former))
    pair = done(ann.post("/auth/refresh", refresh_token=former))
    done(ann.take(pair).get("/users/me"))
    refused(ann.post("/auth/refresh", refresh_token=former), 401, "session_over")


def test_what_goes_on_with_the_older_access_token_does_not_make_a_lost_answer_a_theft(team):
    """The answer to a refresh is lost, and meanwhile the client's other requests go on with the token that it has."""
    ann = team[0]
    former = ann.refresh_token
    done(ann.post("/auth/refresh", refresh_token=former))
    done(ann.get("/users/me"))
    done(ann.take(done(ann.post("/auth/refresh", refresh_token=former))).get("/users/me"))


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "x" * 200_000, "\x00", "é" * 43])
def test_a_refresh_token_that_nobody_gave_out(chat, token):
    refused(chat.stranger().post("/auth/refresh", refresh_token=token), 401, "session_over")


# Too often


def test_who_asks_too_often_waits_and_others_do_not(team):
    ann, bob, _ = team
    turned_away = []
    # 200 at once and 20 a second: how many that takes depends on the machine.
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(40):
            answers = list(pool.map(lambda _: ann.get("/users/me"), range(50)))
            turned_away += [answer for answer in answers if answer.status_code != 200]
            if len(turned_away) > 10:
                break
    assert len(turned_away) > 10
    for answer in turned_away:
        refused(answer, 429, "too_many_requests")
        assert int(answer.headers["Retry-After"]) >= 1
    done(bob.get("/users/me"))
    time.sleep(int(turned_away[-1].headers["Retry-After"]))
    done(ann.get("/users/me"))


def test_strangers_of_one_address_are_counted_together(chat):
    stranger = chat.stranger()
    statuses = []
    while statuses[-1:] != [429] and len(statuses) < 10 * STRANGERS_BURST:
        statuses.append(stranger.post("/auth/refresh", refresh_token="x").status_code)
    # Some more if it takes seconds: one comes back in each.
    assert len(statuses) > STRANGERS_BURST and set(statuses[:-1]) == {401} and statuses[-1] == 429, statuses
    refused(chat.stranger().post("/auth/refresh", refresh_token="x"), 401, "session_over")


def test_an_office_behind_one_address_comes_back_at_once(team, chat):
    """More people than strangers may ask at once refresh their tokens and open sockets, after a network that failed."""
    ann, _, workspace = team
    office = chat.stranger().session
    address = office.adapters["http://"].address

    def refresh(token):
        return office.post(f"{chat.url}/auth/refresh", json={"refresh_token": token})

    people = [chat.person("office") for _ in range(100)]
    ann.bring(workspace, *people)
    for person in people:
        person.take(done(refresh(person.refresh_token)))
    sockets = [Socket(chat, address=address) for _ in people]
    for person, socket in zip(people, sockets):
        socket.send("authenticate", token=person.token)
    for socket in sockets:
        socket.greeted()

    # Who brings nothing that is right is counted, and tells so, while the others come in.
    began, wrong = time.monotonic(), []
    while wrong[-1:] != ["too_many_requests"] and len(wrong) < 10 * STRANGERS_BURST:
        stranger = Socket(chat, address=address)
        stranger.send("authenticate", token="wrong")
        wrong.append(stranger.wait_for("error")["data"]["code"])
        assert stranger.wait_closed() == 4001
    assert STRANGERS_BURST <= len(wrong) - 1 <= STRANGERS_BURST + 1 + (time.monotonic() - began), wrong
    assert set(wrong[:-1]) == {"bad_token"}
    # One may come back in between.
    assert 429 in [refresh("wrong").status_code for _ in range(3)]
    done(refresh(people[0].refresh_token))
    late = Socket(chat, address=address)
    late.send("authenticate", token=people[1].token)
    late.greeted().close()
    for socket in sockets:
        socket.close()


def test_sockets_that_do_not_say_who_they_are_are_so_many_of_one_address(team, chat):
    address = chat.address()
    begun = []
    try:
        with pytest.raises(InvalidStatus) as refusal:
            # All of them within the ten seconds after which the first is closed.
            for _ in range(257):
                begun.append(Socket(chat, address=address))
        assert len(begun) == 256 and refusal.value.response.status_code == 429
        assert int(refusal.value.response.headers["Retry-After"]) >= 1
        Socket(chat, address=chat.address()).close()
        # One that turns out to be somebody makes room.
        begun[0].send("authenticate", token=team[0].token)
        begun[0].greeted()
        begun.append(Socket(chat, address=address))
    finally:
        for socket in begun:
            socket.close()


def test_passwords_are_not_tried_without_end(team, chat):
    ann, bob, _ = team
    began, tried, answer, stranger = time.monotonic(), 0, None, chat.stranger()
    while tried < 40:
        name = (ann.username, ann.username.upper())[tried % 2]
        answer = stranger.post("/auth/login", login=name, password=f"guess {tried}")
        if answer.status_code != 401:
            break
        tried += 1
    refused(answer, 429, "too_many_requests")
    # One comes back every 30 seconds.
    assert 10 <= tried <= 10 + (time.monotonic() - began) / 30, tried
    assert int(answer.headers["Retry-After"]) >= 1
    # Who is tried, and is somewhere else, comes in.
    ann.log_in()
    bob.log_in()


# Who has an account


@pytest.fixture(scope="module")
def dear(tmp_path_factory):
    """A server at which a password costs what it does by default: what nobody looks at would be seen by the time."""
    processes = RoostProcesses()
    folder = tmp_path_factory.mktemp("chat")
    yield Chat(processes.serve("--data", folder, "--password-cost", 15), folder)
    processes.close()


def words(answer):
    """What it says; the order of JSON's members is nobody's."""
    return answer.status_code, answer.json() if answer.content else None


def alike(one, other, times):
    """Neither the words nor the time tell the two apart. They are asked by turns, so that a machine that is busy with
    something else is so for both, and compared by the quicker quarter of each."""
    answers, seconds = [], ([], [])
    for _ in range(times):
        for ask, durations in zip((one, other), seconds):
            begin = time.perf_counter()
            answers.append(ask())
            durations.append(time.perf_counter() - begin)
    assert all(words(answer) == words(answers[0]) for answer in answers), answers
    quick, other_quick = (statistics.quantiles(durations, n=4)[0] for durations in seconds)
    assert abs(quick - other_quick) < max(0.01, 0.4 * max(quick, other_quick)), seconds


def test_logging_in_does_not_tell_whether_there_is_somebody(dear):
    ann, stranger = dear.person("ann"), dear.stranger()
    alike(
        lambda: stranger.post("/auth/login", login=ann.email, password="a wrong one"),
        lambda: stranger.post("/auth/login", login="nobody@example.org", password="a wrong one"), 8)


@pytest.mark.parametrize("route", ["forgot_password", "resend_verification"])
def test_asking_for_a_letter_does_not_tell_whether_there_is_somebody(team, chat, route):
    ann, bob, _ = team
    stranger = chat.stranger()
    # Each gets five letters, and that of the registration was the first.
    known = iter([ann.email, bob.email, chat.person("cid").email] * 4)
    unknown = iter([f"{chat.name('nobody')}@example.org" for _ in range(3)] * 4)
    alike(
        lambda: stranger.post(f"/auth/{route}", email=next(known)),
        lambda: stranger.post(f"/auth/{route}", email=next(unknown)), 10)


def registration(chat, **given):
    name = chat.name("new")
    return {"email": f"{name}@example.org", "username": name, "display_name": "A", "password": PASSWORD} | given


def test_registering_does_not_tell_whether_there_is_somebody(dear):
    ann, stranger = dear.person("ann"), dear.stranger()
    alike(
        lambda: stranger.post("/auth/register", **registration(dear, email=ann.email)),
        lambda: stranger.post("/auth/register", **registration(dear)), 6)
    done(ann.log_in().get("/users/me"))


def test_a_username_that_is_taken_tells_nothing_of_the_address(team, chat):
    ann, bob, _ = team
    stranger = chat.stranger()
    known = stranger.post("/auth/register", **registration(chat, username=bob.username, email=ann.email))
    unknown = stranger.post("/auth/register", **registration(chat, username=bob.username))
    assert words(known) == words(unknown)
