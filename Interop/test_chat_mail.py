"""Letters of `roost serve --smtp`, handed in to aiosmtpd: what is in them, and what becomes of those it does not take."""

import email
import email.policy
import re
import socket
import ssl
import subprocess
import threading
import time

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from peers.chat import PASSWORD, Chat, done, refused
from support.command import fails, run
from support.ports import free_port
from support.waiting import PATIENCE, wait_until

USER, SECRET = "roost", "p@ss/word:with?signs"
AUTHOR = "Die Käuze <chat@example.org>"


class Box:
    """Letters that have been taken; `answers` has what is said instead to those that come first."""

    def __init__(self):
        self.letters, self.answers, self.tried, self.users = [], [], 0, []

    async def handle_DATA(self, server, session, envelope):
        self.tried += 1
        if self.answers:
            return self.answers.pop(0)
        self.letters.append((envelope.rcpt_tos, envelope.content, session.ssl is not None))
        return "250 taken"

    def authenticate(self, server, session, envelope, mechanism, data):
        self.users.append((mechanism, data.login, data.password))
        return AuthResult(success=(data.login, data.password) == (USER.encode(), SECRET.encode()), handled=False)

    def letter(self, number=0):
        """The one of this number, once it is there: who it is for, and the message."""
        wait_until(lambda: len(self.letters) > number, lambda: f"letter {number} of {self.letters}")
        recipients, content, _ = self.letters[number]
        return recipients, email.message_from_bytes(content, policy=email.policy.default)


def secret_of(message, kind):
    links = re.findall(rf"(http://localhost:\d+)/#/{kind}/([\w-]{{43}})\r?$", message.get_content(), re.M)
    assert len(links) == 1, message.get_content()
    return links[0]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """A certificate for `localhost`, and one for another name."""
    folder = tmp_path_factory.mktemp("certificates")
    made = {}
    for name in ("localhost", "elsewhere.example"):
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        made[name] = certificate, key
    return made


def context(files):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*files)
    return made


class FreePort(Controller):
    """aiosmtpd on a port that is free; its own start checks a port that it was told."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, hostname="127.0.0.1", port=free_port(), ready_timeout=PATIENCE, **options)


@pytest.fixture
def mail_server():
    """Starts mail servers, which end with the test."""
    started = []

    def start(box, **options):
        controller = FreePort(box, **options)
        controller.start()
        started.append(controller)
        return controller.port

    yield start
    for controller in started:
        controller.stop(no_assert=True)


@pytest.fixture
def chat_with(roost, tmp_path):
    """A server with chat whose letters go there."""
    def start(smtp, *options):
        folder = tmp_path / "chat"
        process = roost.serve("--data", folder, "--smtp", smtp, "--mail-from", AUTHOR, *options)
        return Chat(process, folder)

    return start


def register(chat, name="ann", **options):
    person = chat.stranger()
    person.username = chat.name(name)
    person.email = f"{person.username}@example.org"
    answer = done(person.post(
        "/auth/register", email=person.email, username=person.username, display_name=name.capitalize(),
        password=PASSWORD, **options), 202)
    assert answer == {"is_verification_required": True}
    return person


def log_in(person, password=PASSWORD):
    return person.post("/auth/login", login=person.username, password=password, device="a test")


def test_an_address_is_confirmed_and_a_password_chosen_by_the_links_of_letters(mail_server, chat_with):
    box = Box()
    chat = chat_with(f"smtp://localhost:{mail_server(box)}")
    ann = register(chat)
    refused(log_in(ann), 403, "email_not_verified")
    recipients, letter = box.letter()
    assert recipients == [ann.email]
    assert letter["To"].addresses[0].addr_spec == ann.email
    assert letter["From"].addresses[0].addr_spec == "chat@example.org"
    assert letter["From"].addresses[0].display_name == "Die Käuze"
    assert letter["Subject"] == "Confirm your e-mail address"
    assert letter["Auto-Submitted"] == "auto-generated"
    assert letter["Message-ID"].startswith("<") and letter["Message-ID"].endswith("@example.org>")
    assert abs(letter["Date"].datetime.timestamp() - time.time()) < 120
    assert letter.get_content_type() == "text/plain" and letter.get_content_charset() == "utf-8"
    assert not letter.defects and not any(value.defects for value in letter.values() if hasattr(value, "defects"))

    url, secret = secret_of(letter, "verify-email")
    assert url == f"http://localhost:{chat.process.port}"
    assert ann.post("/auth/verify_email", token=secret).status_code == 204
    done(log_in(ann))

    assert ann.post("/auth/forgot_password", email=ann.email.upper()).status_code == 202
    _, letter = box.letter(1)
    assert letter["Subject"] == "Choose a new password"
    _, secret = secret_of(letter, "reset-password")
    assert ann.post("/auth/reset_password", token=secret, password="another password").status_code == 204
    refused(log_in(ann), 401, "wrong_credentials")
    done(log_in(ann, "another password"))
    # Nothing of it is in the log.
    assert secret not in chat.process.transcript() and "example.org" not in "".join(chat.process.text)


def verified(chat, box, name="ann"):
    count = len(box.letters)
    person = register(chat, name)
    _, letter = box.letter(count)
    done(person.post("/auth/verify_email", token=secret_of(letter, "verify-email")[1]), 204)
    pair = done(log_in(person))
    person.token = pair["access_token"]
    return person


def test_an_invitation_has_names_as_they_are_and_nothing_else_in_its_header(mail_server, chat_with):
    box = Box()
    chat = chat_with(f"smtp://localhost:{mail_server(box)}")
    ann = verified(chat, box)
    done(ann.patch("/users/me", display_name="Ännchen =?UTF-8?Q?x?= von und zu " + "L" * 40))
    workspace = done(ann.post("/workspaces", name="Größte Eulen 🦉 " + "x" * 60), 201)["workspace"]["id"]
    done(ann.post(f"/workspaces/{workspace}/invitations", email=" Bob@Example.org "), 201)
    recipients, letter = box.letter(1)
    assert recipients == ["Bob@Example.org"]
    assert letter["Subject"] == (
        "Ännchen =?UTF-8?Q?x?= von und zu " + "L" * 40 + " invites you to Größte Eulen 🦉 " + "x" * 60)
    raw = box.letters[1][1]
    assert max(len(line) for line in raw.split(b"\r\n")) <= 78 and raw.isascii()
    assert letter.get("Bcc") is None

    bob = chat.stranger()
    bob.username = chat.name("bob")
    secret = secret_of(letter, "invitation")[1]
    done(bob.post(
        "/auth/register", email="bob@example.org", username=bob.username, display_name="Bob", password=PASSWORD,
        invitation=secret), 202)
    _, letter = box.letter(2)
    done(bob.post("/auth/verify_email", token=secret_of(letter, "verify-email")[1]), 204)
    bob.token = done(log_in(bob))["access_token"]
    assert [one["workspace"]["id"] for one in done(bob.get("/workspaces"))["items"]] == [workspace]


def test_registering_does_not_tell_whether_an_address_has_an_account(mail_server, chat_with):
    """Not by what is said then, nor by what can be tried afterwards; the letters alone differ."""
    box = Box()
    chat = chat_with(f"smtp://localhost:{mail_server(box)}")
    ann, stranger = verified(chat, box), chat.stranger()

    def heard(email):
        """All that whoever registers this address hears of it, without what they chose themselves."""
        name = chat.name("new")
        given = {"username": name, "display_name": "A", "password": "a password of theirs"}
        answers = [
            stranger.post("/auth/register", email=email, **given),
            stranger.post("/auth/register", email=f"other-{name}@example.org", **given),
            stranger.post("/auth/login", login=name, password=given["password"]),
            stranger.post("/auth/login", login=email, password=given["password"]),
            stranger.post("/auth/login", login=name, password="a wrong one"),
            stranger.post("/auth/login", login=email, password="a wrong one"),
            stranger.post("/auth/resend_verification", email=email),
            stranger.post("/auth/forgot_password", email=email),
        ]
        return [(answer.status_code, answer.json() if answer.content else None) for answer in answers]

    known, new = heard(ann.email), heard("nobody@example.org")
    assert known == new
    assert [status for status, _ in known] == [202, 409, 403, 403, 401, 401, 202, 202]
    # Ann's: the one to confirm her address, a warning, and one for another password.
    wait_until(lambda: len(box.letters) == 5, lambda: box.letters)
    letters = [box.letter(number) for number in range(1, 5)]
    subjects = {"ann": [], "nobody": []}
    for recipients, letter in letters:
        subjects["ann" if recipients == [ann.email] else "nobody"].append(letter["Subject"])
    assert sorted(subjects["ann"]) == ["Choose a new password", "You have an account already"]
    assert subjects["nobody"] == ["Confirm your e-mail address"] * 2
    done(log_in(ann))


@pytest.mark.parametrize("kind", ["STARTTLS", "TLS"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
def test_a_password_is_told_to_a_trusted_server_alone(mail_server, chat_with, certificates, kind, mechanism):
    box, files = Box(), certificates["localhost"]
    options = {
        "authenticator": box.authenticate, "auth_required": True,
        "auth_exclude_mechanism": {"PLAIN", "LOGIN"} - {mechanism},
    }
    if kind == "TLS":
        # What is encrypted from the first octet on aiosmtpd does not take for TLS by itself.
        port = mail_server(box, ssl_context=context(files), auth_require_tls=False, **options)
    else:
        port = mail_server(box, tls_context=context(files), require_starttls=True, **options)
    scheme, query = ("smtps", "") if kind == "TLS" else ("smtp", "?tls=always")
    url = f"{scheme}://{USER}:p%40ss%2Fword%3Awith%3Fsigns@localhost:{port}{query}"
    chat = chat_with(url, "--smtp-ca", files[0])
    register(chat)
    box.letter()
    assert box.users == [(mechanism, USER.encode(), SECRET.encode())]


@pytest.mark.parametrize("fault", ["other name", "unknown authority"])
def test_a_server_that_cannot_be_trusted_gets_nothing(mail_server, chat_with, certificates, fault):
    box = Box()
    files = certificates["elsewhere.example" if fault == "other name" else "localhost"]
    port = mail_server(box, tls_context=context(files), require_starttls=True)
    trusted = ["--smtp-ca", files[0]] if fault == "other name" else []
    chat = chat_with(f"smtp://localhost:{port}?tls=always", *trusted)
    register(chat)
    wait_until(
        lambda: "certificate is not trusted" in "".join(chat.process.text), lambda: chat.process.transcript())
    assert box.tried == 0


def test_a_server_without_tls_gets_nothing(mail_server, chat_with):
    box = Box()
    chat = chat_with(f"smtp://localhost:{mail_server(box)}?tls=always")
    register(chat)
    wait_until(lambda: "does not offer STARTTLS" in "".join(chat.process.text), lambda: chat.process.transcript())
    assert box.tried == 0


def test_what_is_not_taken_now_is_taken_later_once(mail_server, chat_with):
    box = Box()
    box.answers = ["451 4.7.1 Greylisted, come again"]
    chat = chat_with(f"smtp://localhost:{mail_server(box)}")
    ann = register(chat)
    recipients, _ = box.letter()
    assert recipients == [ann.email] and box.tried == 2
    assert "answered the letter with 451" in "".join(chat.process.text)
    assert ann.email not in "".join(chat.process.text) and "Greylisted" not in "".join(chat.process.text)


def test_what_is_refused_for_good_is_given_up(mail_server, chat_with):
    box = Box()
    box.answers = ["554 5.7.1 We do not want this"]
    chat = chat_with(f"smtp://localhost:{mail_server(box)}")
    register(chat)
    wait_until(lambda: "a letter was given up" in "".join(chat.process.text), lambda: chat.process.transcript())
    # The next one is taken.
    bob = register(chat, "bob")
    assert box.letter()[0] == [bob.email] and box.tried == 2
    letters = [f"roost_mail_{name}" for name in ("failed_total", "sent_total", "waiting")]
    wait_until(lambda: [chat.metrics()[name] for name in letters] == [1, 1, 0], chat.metrics)


def test_a_server_that_goes_away_gets_the_letter_when_it_is_back(chat_with):
    """Drops the connection in the midst of the first letter, and is a mail server from then on."""
    box, tries = Box(), []
    with socket.create_server(("127.0.0.1", free_port())) as listener:
        port = listener.getsockname()[1]
        chat = chat_with(f"smtp://127.0.0.1:{port}")

        def drop():
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(PATIENCE)
                for answer in (b"220 here\r\n", b"250 here\r\n", b"250 yes\r\n", b"250 yes\r\n", b"354 go on\r\n"):
                    connection.sendall(answer)
                    tries.append(connection.recv(4096))

        thread = threading.Thread(target=drop, daemon=True)
        thread.start()
        ann = register(chat)
        thread.join(PATIENCE)
    assert tries[3] == b"DATA\r\n" and tries[4].startswith(b"Date: ")
    controller = Controller(box, hostname="127.0.0.1", port=port, ready_timeout=PATIENCE)
    controller.start()
    try:
        assert box.letter()[0] == [ann.email] and len(box.letters) == 1
    finally:
        controller.stop(no_assert=True)


def test_letters_that_were_not_sent_are_told_of_at_the_end(roost, tmp_path):
    port = free_port()
    process = roost.serve("--data", tmp_path / "chat", "--smtp", f"smtp://127.0.0.1:{port}", "--mail-from", AUTHOR)
    chat = Chat(process, tmp_path / "chat")
    ann = register(chat)
    wait_until(lambda: "a letter is tried again" in "".join(process.text), lambda: process.transcript())
    assert chat.metrics()["roost_mail_waiting"] == 1
    process.interrupt()
    wait_until(lambda: "letters were not sent" in "".join(process.text), lambda: process.transcript())
    assert ann.email not in "".join(process.text)


@pytest.mark.parametrize("options, says", [
    (["--smtp", "mail.example.org", "--mail-from", "a@example.org"], "--smtp takes smtps://"),
    (["--smtp", "smtps://mail.example.org"], "--mail-from"),
    (["--smtp", "smtps://mail.example.org", "--mail-from", "nobody"], "--mail-from"),
    (["--mail-from", "a@example.org"], "need --smtp"),
])
def test_options_that_do_not_go_together_are_refused(tmp_path, options, says):
    ended = run("serve", "--data", tmp_path / "chat", *options)
    assert ended.returncode == 64 and says in ended.stderr, ended.stderr


def test_an_authority_that_is_not_there_is_refused(tmp_path):
    fails(
        "serve", "--data", tmp_path / "chat", "--port", "0", "--signaling-port", "0", "--no-echo", "--smtp",
        "smtps://mail.example.org", "--mail-from", "a@example.org", "--smtp-ca", tmp_path / "nothing.pem",
        says="--smtp-ca")
