"""python-socketio's server for our client: server.py [PORT]

Prints the port it listens on. Ends when its standard input does.
"""

import asyncio
import sys

import socketio
from aiohttp import web
from engineio.async_socket import AsyncSocket
from engineio.packet import PONG

sio = socketio.AsyncServer(
    async_mode="aiohttp", cors_allowed_origins="*", ping_interval=1, ping_timeout=60, max_http_buffer_size=200_000
)
app = web.Application()
sio.attach(app)

# How many pings have been answered.
pongs, receive = 0, AsyncSocket.receive


async def count(connection, packet):
    global pongs
    pongs += packet.packet_type == PONG
    await receive(connection, packet)


AsyncSocket.receive = count


@sio.event
async def connect(sid, environ, auth):
    await sio.save_session(sid, {"query": environ.get("QUERY_STRING", ""), "auth": auth, "header": environ.get("HTTP_X_TEST")})


@sio.on("echo")
async def echo(sid, *arguments):
    return arguments


@sio.on("session")
async def session(sid):
    kept = await sio.get_session(sid)
    return kept["query"], kept["auth"], kept["header"], sio.transport(sid)


@sio.on("ask me")
async def ask_me(sid, *arguments):
    answer = await sio.call("question", ("what?", b"\x07"), to=sid, timeout=60)
    await sio.emit("answered", answer, to=sid)


@sio.on("pings")
async def pings(sid, wanted):
    """Acknowledged when so many pings have been answered. A ping is not sent before the one before it was."""
    while pongs < wanted:
        await asyncio.sleep(0.01)
    return pongs


@sio.on("silence")
async def silence(sid):
    await asyncio.sleep(30)


@sio.on("drop me")
async def drop_me(sid):
    await sio.disconnect(sid)


@sio.on("connect", namespace="/private")
async def connect_private(sid, environ, auth):
    if not auth or auth.get("token") != "right":
        raise socketio.exceptions.ConnectionRefusedError("Not with this token", {"hint": "try right"})


@sio.on("where", namespace="/private")
async def where(sid):
    return "/private"


async def main():
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0, reuse_address=True)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


try:
    asyncio.run(main())
finally:
    # Connections still open would keep the interpreter's exit waiting.
    import os

    os._exit(0)
