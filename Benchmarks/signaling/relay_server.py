"""The relay app of this benchmark, on python-socketio's server: relay_server.py PORT"""

import sys

import socketio
from aiohttp import web

try:
    import uvloop

    uvloop.install()
except ImportError:
    pass

sio = socketio.AsyncServer(async_mode="aiohttp", transports=["websocket"], http_compression=False)
app = web.Application()
sio.attach(app)
rooms = {}


@sio.on("join")
async def join(sid, room):
    rooms[sid] = room
    await sio.enter_room(sid, room)
    return "ok"


@sio.on("candidate")
async def candidate(sid, message):
    await sio.emit("candidate", message, room=rooms[sid], skip_sid=sid)


@sio.event
async def disconnect(sid, *_):
    rooms.pop(sid, None)


web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)
