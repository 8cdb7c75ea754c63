"""Devices of people of the chat, and what is pushed to them."""

import secrets

from peers.apns import TOPIC
from peers.chat import done
from support.waiting import wait_until


def register(person, token=None, **options):
    """A device of this person's session; its token."""
    token = token or secrets.token_hex(32)
    body = {"platform": "ios", "app_id": TOPIC, "environment": "production", "alert_token": token} | options
    done(person.post("/users/me/devices", **body), 201)
    return token


def marked(apns, token, speaker, channel):
    """The pushes to a device before those of two messages that are written now and are to come there."""
    texts = [f"mark {secrets.token_hex(4)}" for _ in range(2)]
    for text in texts:
        speaker.say(channel, text)
        wait_until(lambda: any(text in str(push.body) for push in apns.to(token)), lambda: str(apns.to(token)))
    assert not apns.faults, apns.faults
    return [push for push in apns.to(token) if not any(text in str(push.body) for text in texts)]


def passed(chat, apns, speaker, workspace):
    """Whatever was written before in the workspace has been decided on: a message that comes after it is pushed."""
    witness = chat.person("witness")
    speaker.bring(workspace, witness)
    token = register(witness)
    speaker.say(speaker.direct(workspace, witness), "what comes after")
    apns.wait(token)
