"""The HTTP of WHIP (RFC 9725) and WHEP, by Python's own client, for peers that have none."""

from urllib.parse import urljoin, urlsplit

SDP, FRAGMENT = "application/sdp", "application/trickle-ice-sdpfrag"


class Response:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read().decode()

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:200]!r}"


def ask(server, method, path, body=None, token=None, **headers):
    """One request to a `livekit_room.Server`, from inside its namespace."""
    connection = server.namespace.http(server.namespace.address, server.port)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    connection.request(method, path, body, fields)
    response = Response(connection.getresponse())
    connection.close()
    return response


def offer_to(server, path, offer, token, content_type=SDP):
    return ask(server, "POST", path, offer, token, Content_Type=content_type)


class Session:
    """A session that an offer has begun."""

    def __init__(self, server, path, offer, token):
        self.server, self.token = server, token
        response = offer_to(server, path, offer, token)
        assert response.status == 201, response
        assert response.headers["Content-Type"] == SDP, response
        assert response.headers["Accept-Patch"] == FRAGMENT, response
        self.tag = response.headers["ETag"]
        assert self.tag.startswith('"') and self.tag.endswith('"'), response
        self.answer = response.body
        self.path = urlsplit(urljoin(server.http, response.headers["Location"])).path

    def ask(self, method, body=None, token=None, **headers):
        return ask(self.server, method, self.path, body, token or self.token, **headers)

    def patch(self, fragment, tag, **headers):
        return self.ask("PATCH", fragment, If_Match=tag, **{"Content_Type": FRAGMENT, **headers})

    def end(self):
        response = self.ask("DELETE")
        assert response.status == 200, response
