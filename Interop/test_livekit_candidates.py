"""What the connection check of LiveKit's browser SDK sees (`ConnectionCheck.checkWebRTC`): the server's candidates, as
they are told beside its descriptions. Chromium reads and takes them; the messages go by a WebSocket of the test's.
"""

import base64
from urllib.parse import urlencode

import pytest
from livekit.protocol import models, rtc
from websockets.sync.client import connect

from peers.livekit_room import token
from support.waiting import PATIENCE, wait_until

SETUP = """
() => {
  const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
  const [early, seen] = [[], []];
  const gathered = async () => {
    while (connection.iceGatheringState !== 'complete') {
      await new Promise((done) => connection.addEventListener('icegatheringstatechange', done, { once: true }));
    }
    return connection.localDescription.sdp;
  };
  globalThis.check = {
    connection, seen,
    async offer() {
      connection.createDataChannel('_reliable');
      await connection.setLocalDescription();
      return gathered();
    },
    async take(type, sdp) {
      await connection.setRemoteDescription({ type, sdp });
      for (const init of early.splice(0)) await connection.addIceCandidate(init);
      if (type === 'answer') return null;
      await connection.setLocalDescription();
      return gathered();
    },
    // As the check reads them, and as the SDK takes them: what it may not take is an error there, too.
    async trickle(text) {
      const init = JSON.parse(text);
      const { protocol, address, port, type, tcpType, sdpMid } = new RTCIceCandidate(init);
      seen.push({ protocol, address, port, type, tcpType, sdpMid });
      if (connection.remoteDescription) await connection.addIceCandidate(init);
      else early.push(init);
    },
  };
}
"""


@pytest.fixture(scope="module")
def sfu(rooms_server):
    return rooms_server


class Checker:
    """Joins, by `/rtc` with the connection on which the room offers, by `/rtc/v1` with its only one."""

    def __init__(self, page, server, room, path):
        self.page, self.said = page, []
        page.evaluate(SETUP)
        query = {"access_token": token(room, "checker")}
        if path == "/rtc":
            query |= {"protocol": 16, "sdk": "js", "version": "2.15.0", "auto_subscribe": 1}
        else:
            request = rtc.JoinRequest(
                client_info=models.ClientInfo(sdk=models.ClientInfo.JS, protocol=16, version="2.15.0"),
                connection_settings=rtc.ConnectionSettings(auto_subscribe=True),
                publisher_offer=rtc.SessionDescription(type="offer", sdp=page.evaluate("check.offer()"), id=1))
            wrapped = rtc.WrappedJoinRequest(join_request=request.SerializeToString())
            query["join_request"] = base64.urlsafe_b64encode(wrapped.SerializeToString()).decode()
        self.socket = connect(
            f"{server.url}{path}?{urlencode(query)}", proxy=None, compression=None, max_size=None,
            sock=server.namespace.connect(server.namespace.address, server.port), open_timeout=PATIENCE)

    def hear(self):
        """What the server says, until it has told its last candidate."""
        is_last = False
        while not is_last:
            said = rtc.SignalResponse.FromString(self.socket.recv(timeout=PATIENCE))
            kind = said.WhichOneof("message")
            if kind in ("offer", "answer"):
                self.said.append(kind)
                description = getattr(said, kind)
                answer = self.page.evaluate("([type, sdp]) => check.take(type, sdp)", [kind, description.sdp])
                if answer:
                    answer = rtc.SessionDescription(type="answer", sdp=answer, id=description.id)
                    self.socket.send(rtc.SignalRequest(answer=answer).SerializeToString())
            elif kind == "trickle":
                self.said.append(rtc.SignalTarget.Name(said.trickle.target))
                self.page.evaluate("(text) => check.trickle(text)", said.trickle.candidateInit)
                is_last = said.trickle.final

    @property
    def seen(self):
        return self.page.evaluate("check.seen")

    @property
    def state(self):
        return self.page.evaluate("check.connection.connectionState")


@pytest.mark.parametrize(
    ("path", "description", "target"), [("/rtc", "offer", "SUBSCRIBER"), ("/rtc/v1", "answer", "PUBLISHER")])
def test_the_connection_check_sees_datagrams_and_tcp(sfu, room, new_page, path, description, target):
    page = new_page()
    page.goto(f"http://127.0.0.1:{sfu.page}/js/packets.js")
    checker = Checker(page, sfu, room, path)
    with checker.socket:
        checker.hear()
        # They follow the description that they belong to.
        assert checker.said[0] == description and set(checker.said[1:]) == {target}
        seen = checker.seen
        assert {(one["protocol"], one["tcpType"]) for one in seen} == {("udp", None), ("tcp", "passive")}
        for one in seen:
            assert one["type"] == "host" and one["address"] and one["port"] and one["sdpMid"] is not None, one
        assert sfu.namespace.address in [one["address"] for one in seen]
        # What the description has already does not disturb the browser.
        wait_until(lambda: checker.state == "connected", lambda: f"it is {checker.state}")
