"""WebDriver BiDi, which Firefox speaks by itself: commands and their results over a WebSocket, one at a time."""

import json
from itertools import count

from websocket import create_connection

from support.waiting import PATIENCE


class Session:
    """A session over a TCP connection that was made already. Events are handed on while a command waits."""

    def __init__(self, connection, heard=lambda method, parameters: None):
        connection.settimeout(PATIENCE)
        self._heard, self._numbers = heard, count(1)
        host, port = connection.getpeername()
        # Firefox takes no connection that names an origin: a web page could have made it.
        self._socket = create_connection(f"ws://{host}:{port}/session", socket=connection, suppress_origin=True)
        self.capabilities = self.command("session.new", capabilities={})["capabilities"]

    def command(self, method, **parameters):
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message["type"] == "event":
                self._heard(message["method"], message["params"])
            elif message["id"] == number:
                assert message["type"] == "success", f"{method}: {message['error']}: {message['message']}"
                return message["result"]

    def close(self):
        self.command("browser.close")
        self._socket.close()
