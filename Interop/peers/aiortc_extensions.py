"""aiortc in a process of its own: answers an offer and says what the header extensions of the first packets held.

    aiortc_extensions.py        the offer comes as a line of JSON; {"event": "answer", "description": …} goes out, and
                                for each kind of media {"event": "packets", "kind": …, "ages": …, "mids": …}
"""

import asyncio
import json
import sys
import time

from aiortc import RTCPeerConnection, RTCRtpReceiver, RTCSessionDescription

COUNT = 50
# From 1900, where the wire's time begins, to 1970.
EPOCH = 2_208_988_800


def say(**line):
    print(json.dumps(line), flush=True)


class Listener:
    """What has been read of one kind of media."""

    def __init__(self):
        self.ages, self.mids, self.count = [], [], 0

    def hear(self, kind, extensions):
        if self.count >= COUNT:
            return
        self.count += 1
        if extensions.abs_send_time is not None:
            now = (time.time() + EPOCH) % 64
            age = (now - extensions.abs_send_time / (1 << 18)) % 64
            # Half of the circle is the past.
            self.ages.append(age if age < 32 else age - 64)
        if extensions.mid is not None:
            self.mids.append(extensions.mid)
        if self.count == COUNT:
            say(event="packets", kind=kind, ages=self.ages, mids=self.mids)


async def main():
    listeners = {"audio": Listener(), "video": Listener()}
    handle = RTCRtpReceiver._handle_rtp_packet

    async def listen(receiver, packet, arrival_time_ms):
        listeners[receiver.track.kind].hear(receiver.track.kind, packet.extensions)
        await handle(receiver, packet, arrival_time_ms)

    RTCRtpReceiver._handle_rtp_packet = listen
    connection = RTCPeerConnection()
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    offer = json.loads(await lines.readline())
    await connection.setRemoteDescription(RTCSessionDescription(offer["sdp"], offer["type"]))
    await connection.setLocalDescription(await connection.createAnswer())
    local = connection.localDescription
    say(event="answer", description={"type": local.type, "sdp": local.sdp})
    await lines.read()
    await connection.close()


asyncio.run(main())
