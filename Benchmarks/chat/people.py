"""Rows for a chat's database: people with sessions, workspaces, channels, and messages of made-up words.

They are written past the server, which would take a second for each password; what they have to look like is in
`Sources/ChatCore/Store/Schema.swift`. The same seed gives the same rows."""

import base64
import hashlib
import hmac
import json
import random
import time
import uuid

HASH = "of-nothing"
"""In place of a password's hash: nobody logs in with one."""


class Rows:
    """Rows of tables, with what a load has to know of them. Identifiers are those of RFC 9562, version 7."""

    def __init__(self, workspaces, people, channels, messages=0):
        """So many workspaces; of each so many people, all of them in so many channels; messages in all together."""
        self.random = random.Random(20261123)
        self.time = int(time.time() * 1_000) - 30 * 86_400_000
        self.sessions, self.workspaces, self.channels = [], [], []
        self.tables = {name: [] for name in COLUMNS if name != "messages"}
        self.messages = messages // workspaces
        for number in range(workspaces):
            self.workspace(number, people, channels)

    def identifier(self):
        self.time += 1
        number = self.time << 80 | 7 << 76 | self.random.getrandbits(12) << 64 | 2 << 62 | self.random.getrandbits(62)
        return uuid.UUID(int=number)

    def workspace(self, number, people, channels):
        workspace, now = self.identifier(), self.time
        self.workspaces.append(workspace)
        self.tables["workspaces"].append(
            (workspace, f"Team {number}", f"team-{number}", self.messages, now, now))
        here = []
        for index in range(people):
            user, session, name = self.identifier(), self.identifier(), f"person{number}x{index}"
            here.append(user)
            self.sessions.append((number, user, session))
            self.tables["users"].append((
                user, f"{name}@example.org", f"{name}@example.org", name, f"Person {index}", f"person {index}",
                "online", "", HASH, now, 0, now, now))
            token = hashlib.sha256(session.bytes).digest()
            self.tables["sessions"].append((session, user, token, 1, "load", now, now, now + 90 * 86_400_000))
            self.tables["members"].append((workspace, user, "owner" if index == 0 else "member", now))
        mine = []
        for index in range(channels):
            channel = self.identifier()
            mine.append(channel)
            self.tables["channels"].append((
                channel, workspace, "public", f"channel-{index}" if index else "general", "", "", here[0], now, now,
                self.messages, 1))
            for user in here:
                self.tables["channel_members"].append((channel, user, now, 0, "all"))
        self.channels.append(mine)

    def all_messages(self, each):
        """Rows of messages, in the order of time; `each(workspace, message)` sees them."""
        words = Words(self.random)
        people = {}
        for number, user, _ in self.sessions:
            people.setdefault(number, []).append(user)
        for sequence in range(1, self.messages + 1):
            for number, workspace in enumerate(self.workspaces):
                message, channel = self.identifier(), self.channels[number][sequence % len(self.channels[number])]
                each(number, message, channel)
                yield (
                    message, workspace, channel, people[number][self.random.randrange(len(people[number]))], "text",
                    words.sentence(), sequence, self.time, 0, 0, 0, 1)

    def tokens(self, secret):
        """An access token for each session, by workspace."""
        tokens = {}
        for number, user, session in self.sessions:
            tokens.setdefault(number, []).append(token(secret, user, session))
        return tokens


COLUMNS = {
    "users": "id, email, email_key, username, display_name, display_key, status, status_text, password_hash, "
    "email_verified_at, is_server_owner, created_at, updated_at",
    "sessions": "id, user_id, token_hash, is_confirmed, device, created_at, rotated_at, expires_at",
    "workspaces": "id, name, slug, sequence, created_at, updated_at",
    "members": "workspace_id, user_id, role, joined_at",
    "channels": "id, workspace_id, kind, name, topic, purpose, created_by, created_at, updated_at, last_message, "
    "version",
    "channel_members": "channel_id, user_id, joined_at, last_read, notifications",
    "messages": "id, workspace_id, channel_id, user_id, kind, content, sequence, created_at, mentions_channel, "
    "mentions_here, reply_count, version",
}


class Words:
    """A language: 20,000 words of one to four syllables, the n-th of which is said 1/n times as often as the first."""

    def __init__(self, source):
        self.random = source
        syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]
        made = dict.fromkeys(
            "".join(source.choices(syllables, k=source.choice((1, 2, 2, 3, 3, 4)))) for _ in range(60_000))
        # Short ones are said more often.
        self.words = sorted(list(made)[:20_000], key=len)
        total, self.weights = 0.0, []
        for place in range(len(self.words)):
            total += 1 / (place + 10)
            self.weights.append(total)

    def sentence(self):
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=self.random.randrange(3, 22)))


def words():
    """The same language as the messages have."""
    return Words(random.Random(20261123)).words


def token(secret, user, session):
    """An access token, as `Sources/ChatServer/Accounts/AccessTokens.swift` makes them."""
    now = int(time.time())
    claims = {"aud": "roost-chat", "sub": str(user), "sid": str(session), "exp": now + 86_400, "made": now * 1_000}

    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    signed = part(b'{"alg":"HS256","typ":"JWT"}') + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(secret.encode(), signed, hashlib.sha256).digest())).decode()
