"""Who gets a token for the rooms of `roost serve --rooms`, and how often."""

import json

import pytest
from livekit import api

from peers.livekit_room import KEY, SECRET
from peers.roost_peer import start_server
from peers.rooms_page import RoomsPage
from support.page import wait_text


@pytest.fixture(scope="module")
def sfu(rooms_server):
    return rooms_server


def ask(namespace, port, body, origin=None, host="127.0.0.1"):
    """The status and the answer to a request for a token."""
    headers = ["-H", f"Origin: {origin}"] if origin else []
    answer = namespace.run(
        "curl", "-s", "-w", "\n%{http_code}", "-X", "POST", *headers, "--data-binary", body,
        f"http://{host}:{port}/rooms/token")
    words, status = answer.stdout.rsplit("\n", 1)
    return int(status), json.loads(words) if words.startswith("{") else words


def test_who_sees_the_page_gets_a_token_for_a_room_and_nobody_else(sfu, namespace):
    given = [ask(namespace, sfu.page, '{"room": " standup ", "name": "Ann"}') for _ in range(2)]
    assert [status for status, _ in given] == [200, 200]
    assert given[0][1]["identity"] != given[1][1]["identity"]
    claims = api.TokenVerifier(KEY, SECRET).verify(given[0][1]["token"])
    assert claims.identity == given[0][1]["identity"] and claims.name == "Ann"
    assert claims.video.room == "standup" and claims.video.room_join and not claims.video.room_admin

    own = f"http://127.0.0.1:{sfu.page}"
    assert ask(namespace, sfu.page, '{"room": "a", "name": "b"}', own)[0] == 200
    assert ask(namespace, sfu.page, '{"room": "a", "name": "b"}', "https://elsewhere.example")[0] == 403
    for wrong in ("", "[]", '{"room": "a"}', '{"room": " ", "name": "b"}', '{"room": "a", "name": "%s"}' % ("x" * 65)):
        status, answer = ask(namespace, sfu.page, wrong)
        assert status == 400 and answer["error"] == "A room and a name of 1 to 64 characters are needed.", wrong
    assert ask(namespace, sfu.page, '{"room": "a", "name": "b"}' + 5_000 * " ")[0] == 413


def test_whether_there_are_rooms_is_asked_as_often_as_one_likes(sfu, namespace):
    for _ in range(130):
        assert json.loads(namespace.fetch(f"http://127.0.0.1:{sfu.page}/rooms/token")) == {"rooms": True}


def test_one_address_asks_so_often_and_is_told_when_to_ask_again(namespace):
    for rate, given in ((3, 3), (0, 10)):
        process, port = start_server(
            namespace, namespace.address, "--rooms", "--rooms-token-rate", str(rate), "--media-port", "0",
            "--media-tcp-port", "0")
        try:
            answers = [ask(namespace, port, '{"room": "a", "name": "b"}', host=namespace.address) for _ in range(10)]
            assert [status for status, _ in answers].count(200) == given
            if given < 10:
                assert answers[-1][0] == 429 and "Try again in" in answers[-1][1]["error"]
        finally:
            assert process.finish() == 0


def test_a_server_without_rooms_says_so(namespace, browser):
    process, port = start_server(namespace)
    assert ask(namespace, port, '{"room": "a", "name": "b"}') == (
        404, {"error": "This server has no rooms for many: it was started without --rooms."})
    page, said = browser.new_page(), "This server has no rooms for many. Two can call each other directly all the same."
    ann = RoomsPage(browser, f"http://127.0.0.1:{port}", "standup", "Ann")
    try:
        # Guests hear of no options.
        wait_text(ann.page, "#lobby-notice", said)
        assert ann.page.evaluate("document.activeElement.id") == "lobby-join"
        with page.expect_response("**/rooms/token"):
            page.goto(f"http://127.0.0.1:{port}/")
        assert page.is_hidden("text=Meet in a room for many.")
        page.goto(f"http://127.0.0.1:{port}/rooms.html")
        wait_text(page, "#lobby-notice", said)
        assert page.evaluate("document.activeElement.id") == "lobby-name"
    finally:
        page.context.close()
        ann.close()
        assert process.finish() == 0
