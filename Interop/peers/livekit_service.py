"""LiveKit's own package for Python as a service that asks a server for things, and takes its webhooks."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import aiohttp
from google.protobuf.json_format import MessageToDict, ParseDict
from livekit import api
from livekit.api.twirp_client import TwirpClient
from livekit.protocol import egress
from livekit.protocol.room import PerformRpcRequest, PerformRpcResponse

from peers.livekit_room import KEY, SECRET
from support.process import JSONProcess
from support.waiting import PATIENCE

# Run inside the namespace: takes webhooks and prints each with its header, as a line of JSON.
RECEIVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        print(json.dumps({"event": "webhook", "body": body, "token": self.headers["Authorization"],
                          "type": self.headers["Content-Type"]}), flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_): pass

server = HTTPServer((sys.argv[1], 0), Handler)
print(json.dumps({"event": "listening", "port": server.server_port}), flush=True)
server.serve_forever()
"""


def from_inside(namespace, work):
    """What `work` brings, whose HTTP connections are made inside the namespace."""
    async def run():
        connector = aiohttp.TCPConnector(socket_factory=lambda _: namespace.socket())
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(PATIENCE)) as session:
            return await work(session)

    # In a thread of its own: in that of a test Playwright's loop may run.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


async def answer_of(asked):
    """The answer, or the error's code, status and message."""
    def plain(message):
        return MessageToDict(message, preserving_proto_field_name=True)

    try:
        answer = await asked
        return {"answer": [plain(one) for one in answer] if isinstance(answer, list) else plain(answer)}
    except api.TwirpError as error:
        return {"code": error.code, "status": error.status, "message": error.message}


def ask_each(server, *asked, key=KEY, secret=SECRET):
    """What LiveKit's package answers to these functions of it, one after the other."""
    async def work(session):
        livekit = api.LiveKitAPI(server.http, key, secret, session=session)
        return [await answer_of(one(livekit)) for one in asked]

    return from_inside(server.namespace, work)


def method_of(service, method, message, fields):
    """`livekit.<service>.<method>`, to be asked."""
    request = ParseDict(fields, (getattr(api, message, None) or getattr(egress, message))())
    return lambda livekit: getattr(getattr(livekit, service), method)(request)


def call(server, service, method, message, key=KEY, secret=SECRET, **fields):
    """One method with one message; the answer, or the error's code, status and message."""
    return ask_each(server, method_of(service, method, message, fields), key=key, secret=secret)[0]


def perform_rpc(server, room, **fields):
    """A method of somebody in the room, called by the server. LiveKit's package has its messages, and no call for it."""
    grants = api.VideoGrants(room_admin=True, room=room)
    headers = {"Authorization": f"Bearer {api.AccessToken(KEY, SECRET).with_grants(grants).to_jwt()}"}
    request = PerformRpcRequest(room=room, **fields)
    return from_inside(server.namespace, lambda session: answer_of(TwirpClient(session, server.http, "livekit").request(
        "RoomService", "PerformRpc", request, headers, PerformRpcResponse)))


def without_nothing(value):
    """Go's protojson, and so LiveKit's server, says null for a message that is not there; Python's leaves it out."""
    if isinstance(value, dict):
        return {name: without_nothing(one) for name, one in value.items() if one is not None}
    return [without_nothing(one) for one in value] if isinstance(value, list) else value


class Webhooks:
    """What was posted, in the order in which it came, as LiveKit's receiver reads it."""

    def __init__(self, namespace):
        self.process = JSONProcess("webhooks", namespace.command(sys.executable, "-c", RECEIVER, namespace.address))
        self.url = f"http://{namespace.address}:{self.process.wait_for('listening')['port']}/"
        self.receiver = api.WebhookReceiver(api.TokenVerifier(KEY, SECRET))

    def received(self):
        posted = [line for line in list(self.process.events) if line["event"] == "webhook"]
        assert all(line["type"] == "application/webhook+json" for line in posted)
        return [self.receiver.receive(line["body"], line["token"]) for line in posted]

    def close(self):
        self.process.kill()
        self.process.finish()
