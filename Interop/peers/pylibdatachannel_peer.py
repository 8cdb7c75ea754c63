"""libdatachannel 0.22 by lines of JSON, as Examples/data-channel-chat speaks them with `--json`.

A process of its own: its callbacks come from threads that it makes itself and want the interpreter's lock, which whoever
closes a connection holds. In the tests' own process that has stopped everything, with no time-out left to notice it.
"""

import base64
import json
import os
import sys
import threading

import pylibdatachannel as libdatachannel

PATIENCE = 90
channels = {}
gathered = threading.Event()
speaking = threading.Lock()


def say(**line):
    with speaking:
        print(json.dumps(line), flush=True)


def heard(label, message):
    if isinstance(message, str):
        say(event="message", label=label, text=message)
    else:
        say(event="message", label=label, base64=base64.b64encode(bytes(message)).decode())


def adopt(channel, is_theirs):
    label = channel.label
    channels[label] = channel
    if is_theirs:
        say(event="channel", label=label, ordered=True, protocol="")
    channel.on_message(lambda message: heard(label, message))
    channel.on_open(lambda: say(event="open", label=label))
    channel.on_closed(lambda: say(event="close", label=label))
    if channel.is_open:
        say(event="open", label=label)


def describe(connection, kind):
    if not gathered.wait(PATIENCE):
        sys.exit("libdatachannel gathers for ever")
    say(type=kind, sdp=connection.local_description.description)


def obey(connection, order):
    if "sdp" in order:
        kind = libdatachannel.DescriptionType.from_string(order["type"])
        connection.set_remote_description(libdatachannel.Description(order["sdp"], kind))
        if order["type"] == "offer":
            # It answers by itself.
            describe(connection, "answer")
        return
    match order["action"]:
        case "create":
            adopt(connection.create_data_channel(order["label"]), is_theirs=False)
        case "offer":
            # It negotiates by itself when a channel is made.
            describe(connection, "offer")
        case "send":
            channels[order["label"]].send(order["text"] if "text" in order else base64.b64decode(order["base64"]))
        case "close":
            channels[order["label"]].close()
        case "quit":
            connection.close()
            # What its threads still want to tell need not be waited for.
            os._exit(0)


def main():
    connection = libdatachannel.PeerConnection()
    connection.on_data_channel(lambda channel: adopt(channel, is_theirs=True))
    connection.on_gathering_state_change(
        lambda state: gathered.set() if state == libdatachannel.GatheringState.COMPLETE else None
    )
    for line in sys.stdin:
        obey(connection, json.loads(line))
    os._exit(0)


main()
