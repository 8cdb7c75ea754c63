"""A caller and a callee of python-socketio in one call room of our server: room_client.py URL TRANSPORTS

Checks who is told about whom, and that payloads arrive as the very same text.
"""

import asyncio
import sys

import socketio

URL, TRANSPORTS = sys.argv[1], sys.argv[2].split("+")
# Seconds for what takes milliseconds: the machine may be busy, and a heartbeat tells of a loss only after 45.
PATIENCE = 90


class Peer:
    def __init__(self, name, is_caller):
        self.name, self.is_caller = name, is_caller
        self.client = socketio.AsyncClient(reconnection=False, request_timeout=PATIENCE)
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
        return await asyncio.wait_for(self.heard.get(), PATIENCE)


async def main():
    ann, bob = Peer("Ann", True), Peer("Bob", False)
    await ann.connect()
    await bob.connect(by_auth=True)
    assert await ann.next() == ("room_user_joined", {"username": "Bob", "roomId": 7, "isCaller": False})
    assert await bob.next() == ("room_user_joined", {"username": "Ann", "roomId": 7, "isCaller": True})
    offer = {"type": "offer", "sdp": "v=0\r\n…", "unknown": [1.50, None, {"ї": "😀"}]}
    await ann.client.emit("offer", offer)
    assert await bob.next() == ("offer", offer)
    await bob.client.emit("answer", {"type": "answer", "sdp": ""})
    assert await ann.next() == ("answer", {"type": "answer", "sdp": ""})
    await bob.client.emit("candidate", "not even an object")
    assert await ann.next() == ("candidate", "not even an object")
    await bob.client.disconnect()
    # A polling client may close before its goodbye is posted; then the heartbeat tells, after 25 + 20 seconds.
    assert await ann.next() == ("room_user_left", {"username": "Bob"})
    await ann.client.disconnect()
    print("done", flush=True)


asyncio.run(asyncio.wait_for(main(), 3 * PATIENCE))
