"""LiveKit's own package for Python as a service that asks a server for things, and takes its webhooks."""

import json
import subprocess
import sys

from livekit import api

from peers.livekit_room import KEY, SECRET
from support.process import JSONProcess

# Run inside the namespace: a call of a service by LiveKit's package, its answer as JSON.
CALL = """
import asyncio, json, sys
from google.protobuf.json_format import MessageToDict, ParseDict
from livekit import api
from livekit.protocol import egress

async def main(url, key, secret, service, method, request):
    async with api.LiveKitAPI(url, key, secret) as livekit:
        kind, fields = request
        message = ParseDict(fields, getattr(api, kind, None) and getattr(api, kind)() or getattr(egress, kind)())
        try:
            answer = await getattr(getattr(livekit, service), method)(message)
            print(json.dumps({"answer": MessageToDict(answer, preserving_proto_field_name=True)}))
        except api.TwirpError as error:
            print(json.dumps({"code": error.code, "status": error.status, "message": error.message}))

asyncio.run(main(*sys.argv[1:6], json.loads(sys.argv[6])))
"""

# Run inside the namespace: LiveKit's package has the messages of this method, and no call for it.
PERFORM_RPC = """
import asyncio, json, sys
import aiohttp
from google.protobuf.json_format import MessageToDict, ParseDict
from livekit.api.twirp_client import TwirpClient, TwirpError
from livekit.protocol import room

async def main(url, token, request):
    async with aiohttp.ClientSession() as session:
        try:
            answer = await TwirpClient(session, url, "livekit").request(
                "RoomService", "PerformRpc", ParseDict(request, room.PerformRpcRequest()),
                {"Authorization": "Bearer " + token}, room.PerformRpcResponse)
            print(json.dumps({"answer": MessageToDict(answer, preserving_proto_field_name=True)}))
        except TwirpError as error:
            print(json.dumps({"code": error.code, "status": error.status, "message": error.message}))

asyncio.run(main(*sys.argv[1:3], json.loads(sys.argv[3])))
"""

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


def call(server, service, method, message, key=KEY, secret=SECRET, **fields):
    """`livekit.<service>.<method>`; the answer, or the error's code, status and message."""
    return answer_of(server, CALL, server.http, key, secret, service, method, json.dumps([message, fields]))


def perform_rpc(server, room, **fields):
    """A method of somebody in the room, called by the server."""
    grants = api.VideoGrants(room_admin=True, room=room)
    bearer = api.AccessToken(KEY, SECRET).with_grants(grants).to_jwt()
    return answer_of(server, PERFORM_RPC, server.http, bearer, json.dumps({"room": room, **fields}))


def answer_of(server, script, *arguments):
    done = subprocess.run(
        server.namespace.command(sys.executable, "-c", script, *arguments), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
