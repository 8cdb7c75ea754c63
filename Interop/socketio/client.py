"""python-socketio's client against our server: client.py URL TRANSPORTS SCENARIO

Prints one line for each thing that happened, `done` at the end; any failed check is a traceback and status 1.
TRANSPORTS: polling, websocket, or polling+websocket (an upgrade).
"""

import asyncio
import sys

import socketio
from engineio.packet import PING

URL, TRANSPORTS, SCENARIO = sys.argv[1], sys.argv[2].split("+"), sys.argv[3]
# Seconds for what takes milliseconds: the machine may be busy.
PATIENCE = 60


def make():
    return socketio.AsyncClient(reconnection=False, request_timeout=PATIENCE)


async def connect(client, url=URL, **options):
    await client.connect(url, transports=TRANSPORTS, wait_timeout=PATIENCE, **options)


async def echo():
    """Acknowledgements, Unicode, numbers, binary, both ways."""
    client = make()
    asked = asyncio.get_running_loop().create_future()

    @client.on("question")
    async def question(*arguments):
        asked.set_result(arguments)
        return "forty-two", b"\x00\xff"

    await connect(client)
    answer = await client.call("echo", ("a", 1, 2.5, None, {"ключ": ["😀", True]}), timeout=PATIENCE)
    assert answer == ("a", 1, 2.5, None, {"ключ": ["😀", True]}), answer
    answer = await client.call("echo", (b"\x01\x02", {"deep": [b"\x03" * 300]}), timeout=PATIENCE)
    assert answer == (b"\x01\x02", {"deep": [b"\x03" * 300]}), answer
    answer = await client.call("echo", timeout=PATIENCE)
    assert answer is None or answer == [], answer
    print("echoed", client.transport())
    await client.emit("ask me")
    assert await asyncio.wait_for(asked, PATIENCE) == ("what?", b"\x07")
    while (answered := await client.call("what was answered", timeout=PATIENCE)).startswith("nothing"):
        await asyncio.sleep(0.01)
    print(answered)
    large = "x" * 300_000
    assert await client.call("echo", large, timeout=PATIENCE) == large
    await client.disconnect()


async def namespaces():
    """Two namespaces on one connection, auth in one of them, refusals with data."""
    client = make()
    errors = asyncio.Queue()

    @client.on("connect_error", namespace="/private")
    async def private_error(data):
        await errors.put(("/private", data))

    @client.on("connect_error", namespace="/nowhere")
    async def nowhere_error(data):
        await errors.put(("/nowhere", data))

    wrong = {"token": "wrong"}
    await connect(client, namespaces=["/", "/chat", "/private", "/nowhere"], auth=wrong, wait=False)
    heard = dict([await asyncio.wait_for(errors.get(), PATIENCE) for _ in range(2)])
    assert heard["/private"] == {"message": "Not with this token", "data": {"hint": "try right"}}, heard
    assert heard["/nowhere"]["message"] == "Invalid namespace", heard
    await client.disconnect()
    client = make()
    await connect(client, namespaces=["/", "/chat", "/private"], auth={"token": "right"})
    assert await client.call("where", namespace="/chat", timeout=PATIENCE) == "/chat"
    assert await client.call("where", namespace="/private", timeout=PATIENCE) == "/private"
    assert await client.call("where", timeout=PATIENCE) == "/"
    await client.disconnect()


async def rooms():
    """A broadcast reaches the others of the room and not the sender."""
    clients = [make() for _ in range(3)]
    queues = [asyncio.Queue() for _ in clients]
    for client, queue in zip(clients, queues):
        client.on("said", queue.put)
        await connect(client)
    for client in clients[:2]:
        await client.call("join", "kitchen", timeout=PATIENCE)
    await clients[0].emit("say", {"n": 1.0, "bytes": b"\x09"})
    assert await asyncio.wait_for(queues[1].get(), PATIENCE) == {"n": 1.0, "bytes": b"\x09"}
    await clients[1].call("leave", "kitchen", timeout=PATIENCE)
    await clients[0].emit("say", "nobody hears")
    for client in clients:
        await client.call("echo", 1, timeout=PATIENCE)
    assert all(queue.empty() for queue in queues)
    for client in clients:
        await client.disconnect()


async def burst():
    """Many events at once arrive, each one once, in their order; more than python-engineio takes in one body."""
    client = make()
    numbers = asyncio.Queue()
    client.on("number", numbers.put)
    await connect(client)
    await client.emit("burst", 100)
    arrived = [await asyncio.wait_for(numbers.get(), PATIENCE) for _ in range(100)]
    assert arrived == [str(number) for number in range(100)], arrived
    await client.disconnect()


async def hold():
    """Stays connected until the server goes away; tells when the third ping has come."""
    client = make()
    heartbeat, gone = (asyncio.get_running_loop().create_future() for _ in range(2))
    pings, receive = 0, client.eio._receive_packet

    async def count(packet):
        nonlocal pings
        await receive(packet)
        pings += packet.packet_type == PING
        if pings == 3 and not heartbeat.done():
            heartbeat.set_result(pings)

    client.eio._receive_packet = count

    @client.event
    async def disconnect(reason):
        if not heartbeat.done():
            heartbeat.set_result(pings)
        gone.set_result(reason)

    await connect(client)
    print("connected", flush=True)
    print(f"{await heartbeat} pings", flush=True)
    print(await gone)


async def main():
    await {"echo": echo, "namespaces": namespaces, "rooms": rooms, "burst": burst, "hold": hold}[SCENARIO]()
    print("done", flush=True)


asyncio.run(asyncio.wait_for(main(), 3 * PATIENCE))
