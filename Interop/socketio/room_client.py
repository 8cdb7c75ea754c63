"""A caller and a callee of python-socketio in one call room of our server: room_client.py URL TRANSPORTS

Checks who is told about whom, and that payloads arrive as the very same text.
"""

import asyncio
import json
import sys

import socketio

URL, TRANSPORTS = sys.argv[1], sys.argv[2].split("+")
# Seconds for what takes milliseconds: the machine may be busy, and a heartbeat tells of a loss only after 45.
PATIENCE = 90

# Texts that would not stay what they are if somebody read them and wrote them anew.
SIGNALS = [
    r'{"type":"offer","sdp":"v=0\r\n…","unknown":[1.50,null,{"ї":"😀"}]}',
    r'{"z":1,"a":2,"z":3,"":{}}',
    "[1.0,1e3,1E+2,-0,-0.0,0.10,12345678901234567890,1e400,3.141592653589793238462643]",
    r'["\u00e9é\ud83d\ude00😀","\/","\u2028","\u0000","\ud800"]',
    '{ "spaces" :\t[ ] ,\r\n"lines" : { } }',
    '"not even an object"',
    "null",
]


class Verbatim:
    """JSON for python-socketio in which the arguments of an event stay the text that they are on the wire."""

    decoder = json.JSONDecoder()

    @classmethod
    def loads(cls, text):
        if not text.startswith("["):
            return json.loads(text)
        name, end = cls.decoder.raw_decode(text, 1)
        arguments = []
        while text[end] == ",":
            start = end + 1
            _, end = cls.decoder.raw_decode(text, start)
            arguments.append(text[start:end])
        assert text[end:] == "]", text
        return [name, *arguments]

    @staticmethod
    def dumps(value, **options):
        if not isinstance(value, list):
            return json.dumps(value, **options)
        name, *arguments = value
        return f"[{','.join([json.dumps(name), *arguments])}]"


class Peer:
    def __init__(self, name, is_caller):
        self.name, self.is_caller = name, is_caller
        self.client = socketio.AsyncClient(reconnection=False, request_timeout=PATIENCE, json=Verbatim)
        self.heard = asyncio.Queue()
        for event in ("room_user_joined", "room_user_left", "offer", "answer", "candidate"):
            self.listen(event)

    def listen(self, event):
        async def handler(*arguments):
            await self.heard.put((event, *arguments))

        self.client.on(event, handler)

    async def connect(self, room="7", by_auth=False):
        if by_auth:
            auth = {"roomId": int(room), "username": self.name, "isCaller": self.is_caller}
            await self.client.connect(URL, transports=TRANSPORTS, auth=auth, wait_timeout=PATIENCE)
        else:
            query = f"?roomId={room}&username={self.name}&isCaller={'true' if self.is_caller else 'false'}"
            await self.client.connect(URL + query, transports=TRANSPORTS, wait_timeout=PATIENCE)

    async def next(self):
        """An event's name and its arguments' texts."""
        return await asyncio.wait_for(self.heard.get(), PATIENCE)

    async def next_user(self):
        """What an event of the server's own says."""
        name, user = await self.next()
        return name, json.loads(user)


async def main():
    ann, bob = Peer("Ann", True), Peer("Bob", False)
    await ann.connect()
    await bob.connect(by_auth=True)
    assert await ann.next_user() == ("room_user_joined", {"username": "Bob", "roomId": 7, "isCaller": False})
    assert await bob.next_user() == ("room_user_joined", {"username": "Ann", "roomId": 7, "isCaller": True})
    for kind, sender, receiver in (("offer", ann, bob), ("answer", bob, ann), ("candidate", bob, ann)):
        for signal in SIGNALS:
            await sender.client.emit(kind, signal)
            assert await receiver.next() == (kind, signal)
        await sender.client.emit(kind, tuple(SIGNALS))
        assert await receiver.next() == (kind, *SIGNALS)
        await sender.client.emit(kind)
        assert await receiver.next() == (kind,)
    await bob.client.disconnect()
    # A polling client may close before its goodbye is posted; then the heartbeat tells, after 25 + 20 seconds.
    assert await ann.next_user() == ("room_user_left", {"username": "Bob"})
    await ann.client.disconnect()
    print("done", flush=True)


asyncio.run(asyncio.wait_for(main(), 3 * PATIENCE))
