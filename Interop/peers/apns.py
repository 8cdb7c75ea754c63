"""A stand-in for Apple's push service: HTTP/2 by hyper's h2, over TLS with ALPN, on loopback. It checks each request by
what Apple documents ("Sending notification requests to APNs", "Establishing a token-based connection to APNs") and
answers as a test has told it to, else with 200."""

import contextlib
import dataclasses
import json
import re
import socket
import ssl
import subprocess
import threading
import time
import uuid

import jwt
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError

from support.waiting import PATIENCE

KEY_ID, TEAM_ID, TOPIC = "ABC123DEFG", "DEF123GHIJ", "org.example.roost"
PAYLOAD_LIMIT = {"alert": 4_096, "background": 4_096, "voip": 5_120}
APS_KEYS = {
    "alert", "badge", "sound", "thread-id", "category", "content-available", "mutable-content", "target-content-id",
    "interruption-level", "relevance-score",
}
ALERT_KEYS = {"title", "subtitle", "body"}
HEADERS = {
    "authorization", "apns-id", "apns-expiration", "apns-priority", "apns-topic", "apns-collapse-id", "apns-push-type",
    "content-length", "content-type", "user-agent",
}


@dataclasses.dataclass
class Answer:
    status: int = 200
    reason: str | None = None
    timestamp: int | None = None
    """Milliseconds since 1970; of 410."""
    retry_after: int | None = None
    delay: float = 0
    """Seconds until it is given."""
    goaway: bool = False
    """The connection goes, and this request with it, unanswered."""
    last: bool = False
    """The connection goes once this is given."""


@dataclasses.dataclass
class Push:
    """A request that has come, whatever it was answered."""

    token: str
    headers: dict
    body: dict
    connection: int
    at: float

    @property
    def aps(self):
        return self.body["aps"]

    @property
    def id(self):
        return self.headers["apns-id"]


class APNs:
    def __init__(self, folder):
        self.key, self.certificate, certificate_key = folder / "key.p8", folder / "service.pem", folder / "service.key"
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.key)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-out", self.certificate, "-keyout", certificate_key)
        self.public_key = load_pem_private_key(self.key.read_bytes(), None).public_key()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self.tls.load_cert_chain(self.certificate, certificate_key)
        self.tls.set_alpn_protocols(["h2"])
        self.pushes, self.faults, self.bearers, self.connections = [], [], [], 0
        self._answers = {}
        self._changed = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def options(self):
        """Of `roost serve`."""
        return ("--apns-key", self.key, "--apns-key-id", KEY_ID, "--apns-team-id", TEAM_ID, "--apns-topic", TOPIC,
                "--apns-url", f"https://localhost:{self._listener.getsockname()[1]}", "--apns-ca", self.certificate)

    def answer(self, token, *answers):
        """What the next pushes to this device are answered."""
        with self._changed:
            self._answers.setdefault(token, []).extend(answers)

    def to(self, token):
        with self._changed:
            return [push for push in self.pushes if push.token == token]

    def wait(self, token, count=1, timeout=PATIENCE):
        """The pushes to this device, when there are so many."""
        with self._changed:
            found = self._changed.wait_for(
                lambda: sum(push.token == token for push in self.pushes) >= count or self.faults, timeout)
            assert not self.faults, self.faults
            assert found, f"{count} pushes to {token[:8]} have not come: {self.pushes[-10:]}"
            return [push for push in self.pushes if push.token == token]

    def close(self):
        self._listener.close()
        assert not self.faults, self.faults

    # Its side of a connection

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(plain, self.connections), daemon=True).start()

    def _serve(self, plain, number):
        try:
            with plain, self.tls.wrap_socket(plain, server_side=True) as connection:
                if connection.selected_alpn_protocol() != "h2":
                    self._fault(f"ALPN has given {connection.selected_alpn_protocol()}")
                    return
                Connection(self, connection, number).run()
        except OSError as error:
            if isinstance(error, ssl.SSLError):
                self._fault(f"TLS: {error}")

    def _fault(self, text):
        with self._changed:
            self.faults.append(text)
            self._changed.notify_all()

    def taken(self, headers, body, number):
        """Looks at a request; the answer to it."""
        with self._changed:
            fields = dict(headers)
            token = fields.get(":path", "").rpartition("/")[2]
            for text in self._wrong(headers, fields, body):
                self.faults.append(f"{text}: {headers} {body[:200]}")
            try:
                content = json.loads(body)
            except ValueError:
                content = {}
            self.pushes.append(Push(token, fields, content, number, time.monotonic()))
            waiting = self._answers.get(token)
            self._changed.notify_all()
            return waiting.pop(0) if waiting else Answer()

    def _wrong(self, headers, fields, body):
        """What is against Apple's rules."""
        pseudo = [name for name, _ in headers if name.startswith(":")]
        if sorted(pseudo) != [":authority", ":method", ":path", ":scheme"] \
                or [name for name, _ in headers][:4] != pseudo:
            yield "RFC 9113 §8.3.1: pseudo-headers"
        if fields.get(":method") != "POST" or fields.get(":scheme") != "https":
            yield "the method"
        if not re.fullmatch(r"/3/device/([0-9a-f]{2}){8,200}", fields.get(":path", "")):
            yield "the path"
        if unknown := {name for name in fields if not name.startswith(":")} - HEADERS:
            yield f"headers that Apple does not know: {unknown}"
        if len(fields) != len(headers):
            yield "a header twice"
        yield from self._wrong_bearer(fields.get("authorization", ""))
        kind = fields.get("apns-push-type")
        if kind not in PAYLOAD_LIMIT:
            yield "apns-push-type"
            return
        if fields.get("apns-topic") != TOPIC + (".voip" if kind == "voip" else ""):
            yield "apns-topic"
        if fields.get("apns-priority") not in {"voip": ("10",), "background": ("5",), "alert": ("10", "5")}[kind]:
            yield "apns-priority"
        expiration = fields.get("apns-expiration", "")
        if not expiration.isdecimal() or int(expiration) > time.time() + (120 if kind == "voip" else 30 * 86_400):
            yield "apns-expiration"
        with contextlib.suppress(ValueError):
            if str(uuid.UUID(fields.get("apns-id", ""))) != fields.get("apns-id"):
                yield "apns-id"
        if "apns-id" not in fields:
            yield "apns-id"
        if len(fields.get("apns-collapse-id", "").encode()) > 64:
            yield "apns-collapse-id"
        if len(body) > PAYLOAD_LIMIT[kind]:
            yield f"a payload of {len(body)} bytes"
        if int(fields.get("content-length", len(body))) != len(body):
            yield "content-length"
        yield from self._wrong_payload(kind, body)

    def _wrong_payload(self, kind, body):
        try:
            content = json.loads(body)
        except ValueError:
            yield "the payload is no JSON"
            return
        aps = content.get("aps") if isinstance(content, dict) else None
        if not isinstance(aps, dict) or set(aps) - APS_KEYS:
            yield "aps"
            return
        if kind == "alert" and not {"alert", "badge", "sound"} & set(aps):
            yield "an alert push without alert, badge and sound"
        if kind == "background" and set(aps) != {"content-available"}:
            yield "a background push with more than content-available"
        alert = aps.get("alert", {})
        if set(alert) - ALERT_KEYS or not all(isinstance(text, str) and text for text in alert.values()):
            yield "alert"
        if not isinstance(aps.get("badge", 0), int) or aps.get("mutable-content", 1) != 1:
            yield "a member of aps"

    def _wrong_bearer(self, header):
        if not header.startswith("bearer "):
            yield "authorization"
            return
        bearer = header.removeprefix("bearer ")
        try:
            head = jwt.get_unverified_header(bearer)
            claims = jwt.decode(bearer, self.public_key, algorithms=["ES256"], options={"verify_iat": True})
        except jwt.PyJWTError as error:
            yield f"the provider token: {error}"
            return
        if head["alg"] != "ES256" or head.get("kid") != KEY_ID:
            yield f"the provider token's head: {head}"
        age = time.time() - claims.get("iat", 0)
        if set(claims) != {"iss", "iat"} or claims["iss"] != TEAM_ID or not -1 <= age < 3_600:
            yield f"the provider token's claims: {claims}"
        if bearer not in self.bearers:
            self.bearers.append(bearer)


class Connection:
    """One connection; whatever is done to it is done by its thread."""

    def __init__(self, service, connection, number):
        self.service, self.socket, self.number = service, connection, number
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.requests, self.due, self.is_over = {}, [], False

    def run(self):
        self.h2.initiate_connection()
        self.flush()
        self.socket.settimeout(0.02)
        while not self.is_over:
            try:
                data = self.socket.recv(65_536)
            except TimeoutError:
                data = None
            if data == b"":
                return
            try:
                for event in self.h2.receive_data(data) if data else []:
                    self.take(event)
            except ProtocolError as error:
                self.service._fault(f"HTTP/2: {error}")
                self.is_over = True
            self.give()
            self.flush()

    def flush(self):
        if data := self.h2.data_to_send():
            self.socket.settimeout(PATIENCE)
            self.socket.sendall(data)
            self.socket.settimeout(0.02)

    def take(self, event):
        match event:
            case RequestReceived():
                self.requests[event.stream_id] = ([tuple(header) for header in event.headers], bytearray())
            case DataReceived():
                self.requests[event.stream_id][1].extend(event.data)
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded():
                headers, body = self.requests.pop(event.stream_id)
                answer = self.service.taken(headers, bytes(body), self.number)
                self.due.append((time.monotonic() + answer.delay, event.stream_id, dict(headers), answer))
            case StreamReset():
                self.requests.pop(event.stream_id, None)
                self.due = [one for one in self.due if one[1] != event.stream_id]
            case ConnectionTerminated():
                self.is_over = True

    def give(self):
        """The answers whose time has come."""
        now = time.monotonic()
        ready = [one for one in self.due if one[0] <= now]
        self.due = [one for one in self.due if one[0] > now]
        for _, stream, headers, answer in ready:
            if self.is_over:
                return
            if answer.goaway:
                # RFC 9113 §6.8: streams above the last one named were not looked at.
                self.h2.close_connection(last_stream_id=stream - 2 if stream > 1 else 0)
                self.is_over = True
                return
            self.send(stream, headers, answer)
            if answer.last:
                self.h2.close_connection(last_stream_id=stream)
                self.is_over = True

    def send(self, stream, headers, answer):
        fields = [(":status", str(answer.status)), ("apns-id", headers.get("apns-id", ""))]
        if answer.retry_after is not None:
            fields.append(("retry-after", str(answer.retry_after)))
        if answer.reason is None:
            return self.h2.send_headers(stream, fields, end_stream=True)
        body = {"reason": answer.reason} | ({"timestamp": answer.timestamp} if answer.timestamp is not None else {})
        self.h2.send_headers(stream, fields)
        self.h2.send_data(stream, json.dumps(body).encode(), end_stream=True)


def openssl(*arguments):
    subprocess.run(["openssl", *(str(argument) for argument in arguments)], check=True, capture_output=True)
