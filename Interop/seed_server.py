"""The seed's signaling server as its documents describe it, on python-socketio: seed_server.py [--web DIR]

It tells only those already present about a newcomer, passes `offer`, `answer` and `candidate` on untouched to everybody
else in the room, and validates nothing. It also serves the browser page with the headers that our server sends, and says
that it has no relays, so that the page can be tested against a server that is not ours. Prints one JSON line with its
port.

With --without-ssrcs it takes every `a=ssrc` and `a=ssrc-group` out of offers and answers, as clients and servers do
that leave sources to be found by mid and rid (RFC 9143 §9.2, RFC 8852), and prints a line about each description.
"""

import argparse
import asyncio
import json
import re
from pathlib import Path
from urllib.parse import parse_qs

import socketio
from aiohttp import web

WEB = Path(__file__).resolve().parents[1] / "Web"
POLICY = (
    "default-src 'self'; img-src 'self' data:; media-src 'self' blob:; connect-src 'self' ws: wss:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)


def without_ssrcs(kind, description):
    sdp, removed = re.subn(r"(?m)^a=ssrc(?:-group)?:.*\r?\n", "", description["sdp"])
    print(json.dumps({"event": "description", "kind": kind, "removed": removed}), flush=True)
    return {**description, "sdp": sdp}


def make_signaling(ping_interval=25, names_ssrcs=True):
    server = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*", ping_interval=ping_interval)

    @server.event
    async def connect(sid, environ):
        query = {name: values[-1] for name, values in parse_qs(environ["QUERY_STRING"]).items()}
        if "roomId" not in query or "username" not in query:
            raise socketio.exceptions.ConnectionRefusedError("roomId and username are required")
        room, is_caller = int(query["roomId"]), query.get("isCaller") == "true"
        if room == 13:
            # A room that is always taken, to see what a client says.
            raise socketio.exceptions.ConnectionRefusedError("the room is full: 2 people are in it")
        await server.save_session(sid, {"room": room, "username": query["username"]})
        await server.enter_room(sid, str(room))
        joined = {"username": query["username"], "roomId": room, "isCaller": is_caller}
        await server.emit("room_user_joined", joined, room=str(room), skip_sid=sid)

    @server.event
    async def disconnect(sid, reason):
        session = await server.get_session(sid)
        if session:
            await server.emit(
                "room_user_left", {"username": session["username"]}, room=str(session["room"]), skip_sid=sid
            )

    def relay(name):
        async def passed_on(sid, *payload):
            session = await server.get_session(sid)
            if name != "candidate" and not names_ssrcs:
                payload = (without_ssrcs(name, payload[0]), *payload[1:])
            await server.emit(name, payload, room=str(session["room"]), skip_sid=sid)

        server.on(name, passed_on)

    for name in ("offer", "answer", "candidate"):
        relay(name)
    # For the page's own client: something that answers, and somebody who ends the connection.
    server.on("echo", lambda sid, *payload: payload)

    @server.event
    async def leave(sid):
        await server.disconnect(sid)

    return server


@web.middleware
async def page_headers(request, handler):
    response = await handler(request)
    if not request.path.startswith("/socket.io"):
        response.headers["Content-Security-Policy"] = POLICY
    return response


@web.middleware
async def no_websocket(request, handler):
    """A proxy in the way that knows nothing of WebSockets."""
    if request.headers.get("Upgrade", "").lower() == "websocket":
        raise web.HTTPBadGateway
    return await handler(request)


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--web", type=Path, default=WEB)
    parser.add_argument("--ping-interval", type=float, default=25)
    parser.add_argument("--no-websocket", action="store_true")
    parser.add_argument("--without-ssrcs", action="store_true")
    arguments = parser.parse_args()

    middlewares = [page_headers] + ([no_websocket] if arguments.no_websocket else [])
    application = web.Application(middlewares=middlewares)
    make_signaling(arguments.ping_interval, not arguments.without_ssrcs).attach(application)
    application.router.add_get("/", lambda request: web.FileResponse(arguments.web / "index.html"))
    application.router.add_get("/ice-servers", lambda request: web.json_response({"iceServers": []}))
    application.router.add_static("/", arguments.web)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, arguments.host, arguments.port)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    print(json.dumps({"event": "listening", "port": port, "signaling_port": port}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
