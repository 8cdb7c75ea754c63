"""People of several servers that are one, as apps are: who goes to the next server when the one does not answer, and
sends again, by the same name, what nobody has acknowledged."""

import contextlib
import itertools
import json
import random
import threading
import time

import requests
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import connect

from support.waiting import PATIENCE


class Roamer:
    """A realtime client. It keeps the number of the newest event that it has seen, and comes back with it.

    What a server may not do is in `faults`: an event again, or out of order, an error, a refusal."""

    def __init__(self, person, chats, workspace):
        """`chats`: where it goes, in this order."""
        self.workspace = workspace
        self.newest, self.is_following, self.is_over = None, False, False
        self.messages, self.codes, self.faults = [], [], []
        self.acknowledged, self.attempts = {}, 0
        self._ways = itertools.cycle([person.at(chat) for chat in chats])
        self._connection = None
        self._changed = threading.Condition()
        self._living = threading.Thread(target=self._live, daemon=True)
        self._living.start()

    # Receiving

    def _live(self):
        while not self.is_over:
            asked, connection = self.newest, None
            try:
                connection = self._connect(next(self._ways), asked)
                with self._changed:
                    self._connection = connection
                    self._changed.notify_all()
                for text in connection:
                    self._take(json.loads(text), asked)
            except InvalidStatus as error:
                # A server that goes down may say so.
                if error.response.status_code != 503:
                    self._fault(error)
            except (OSError, EOFError, WebSocketException):
                pass
            with self._changed:
                self._connection = None
                if connection:
                    self.codes.append(connection.close_code)
                self._changed.notify_all()
            time.sleep(random.uniform(0, 0.2))

    def _connect(self, way, asked):
        resume = "" if asked is None else f"&resume={self.workspace}:{asked}"
        return connect(
            f"ws{way.chat.url[4:]}/ws?token={way.token}{resume}", sock=way.chat.connect(), proxy=None,
            compression=None, open_timeout=PATIENCE, max_size=None, ping_interval=None)

    def _take(self, frame, asked):
        kind, data = frame["type"], frame["data"]
        with self._changed:
            if kind == "ack":
                self.acknowledged[frame["id"]] = data["sequence"]
            elif kind in ("error", "reload_needed") or kind == "resuming" and data["sequence"] != asked:
                self.faults.append(frame)
            elif kind == "following":
                self.newest, self.is_following = max(self.newest or 0, data["sequence"]), True
            elif "sequence" in frame:
                # After `resuming` come those behind the number that was asked for, which is the newest: nothing again.
                if self.newest is None or frame["sequence"] <= self.newest:
                    self.faults.append(f"behind {self.newest}: {json.dumps(frame)[:200]}")
                self.newest = frame["sequence"]
                if kind == "message_sent":
                    self.messages.append((frame["sequence"], data["client_id"]))
            self._changed.notify_all()

    def _fault(self, what):
        with self._changed:
            self.faults.append(what)

    def _wait(self, check, what):
        """Asked with the lock held."""
        assert self._changed.wait_for(check, PATIENCE), f"not {what}: {self.story()}"

    def wait_following(self):
        with self._changed:
            self._wait(lambda: self.is_following, "following")

    def wait_seen(self, sequence):
        with self._changed:
            self._wait(lambda: self.newest >= sequence, f"at {sequence}")

    def story(self):
        return f"at {self.newest}, {len(self.messages)} messages, closed {self.codes}, faults {self.faults[:5]}"

    # Sending

    def say(self, channel, names, then=None):
        """Sends these messages, each named by its text, until all are acknowledged, by whatever server there is.

        `then` is called once, when they have been written and nothing has been waited for."""
        while names:
            with self._changed:
                self._wait(lambda: self._connection, "connected")
                connection = self._connection
            self.attempts += len(names)
            with contextlib.suppress(OSError, WebSocketException):
                for name in names:
                    said = {"channel_id": channel, "content": name, "client_id": name}
                    connection.send(json.dumps({"type": "send_message", "id": name, "data": said}))
            if then:
                then, _ = None, then()
            with self._changed:
                self._wait(lambda: self._connection is not connection or self._missing(names) == [], "acknowledged")
                names = self._missing(names)

    def _missing(self, names):
        return [name for name in names if name not in self.acknowledged]

    def close(self):
        self.is_over = True
        with self._changed:
            connection = self._connection
        if connection:
            connection.close()
        self._living.join(PATIENCE)


class Poster:
    """Somebody who sends by HTTP."""

    def __init__(self, person, chats):
        self.ways = [person.at(chat) for chat in chats]
        self.acknowledged, self.attempts, self.faults = {}, 0, []

    def say(self, channel, names, then=None):
        """As `Roamer.say`, one after the other."""
        for name in names:
            deadline = time.monotonic() + PATIENCE
            while name not in self.acknowledged:
                assert time.monotonic() < deadline, f"{name} is not acknowledged: {self.faults[:5]}"
                self.attempts += 1
                try:
                    answer = self.ways[0].post(f"/channels/{channel}/messages", content=name, client_id=name)
                    if answer.status_code in (200, 201):
                        self.acknowledged[name] = answer.json()["sequence"]
                        continue
                    self.faults.append((answer.status_code, answer.text))
                except requests.RequestException:
                    pass
                self.ways.reverse()
                time.sleep(0.05)
        if then:
            then()
