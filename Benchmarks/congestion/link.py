"""A link in user space: datagrams between two peers of this machine through one drop-tail queue, with rate, delay, jitter
and loss. For kernels without `netem` (this project's test machine has `tbf`, and nothing that delays).

Each peer is told an address of the link instead of the other's, so nothing else of the machine is touched.
"""

import asyncio
import collections
import random
import time

HEADERS = 28  # IP and UDP


class Door(asyncio.DatagramProtocol):
    """What one peer takes for the other."""

    def __init__(self, came):
        self.came, self.peer, self.transport = came, None, None

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        self.came(data)

    @property
    def port(self):
        return self.transport.get_extra_info("sockname")[1]

    def send(self, data):
        if self.peer and not self.transport.is_closing():
            self.transport.sendto(data, self.peer)


class Link:
    def __init__(self, capacity, delay=0.025, queue=0.3, loss=0.0, jitter=0.0, seed=1):
        """capacity: [(from second, bits a second)]; queue in seconds at the highest capacity."""
        self.capacity, self.delay, self.loss, self.jitter = capacity, delay, loss, jitter
        self.limit = max(rate for _, rate in capacity) * queue / 8
        self.random, self.start = random.Random(seed), None
        self.busy_until = self.last_arrival = self.last_return = 0.0
        self.queued, self.queued_bytes = collections.deque(), 0
        self.received = self.dropped = self.lost = 0

    async def open(self):
        loop = asyncio.get_running_loop()
        self.loop = loop
        doors = [loop.create_datagram_endpoint(lambda came=came: Door(came), local_addr=("127.0.0.1", 0))
                 for came in (self.forward, self.back)]
        (_, self.near), (_, self.far) = [await door for door in doors]
        return self

    def begin(self):
        self.start = time.monotonic()

    @property
    def now(self):
        return time.monotonic() - (self.start or time.monotonic())

    def rate(self, at):
        return [rate for since, rate in self.capacity if since <= at][-1]

    @property
    def queue_delay(self):
        return max(self.busy_until - self.now, 0.0)

    def forward(self, data):
        """From the sender: through the queue."""
        now, size = self.now, len(data) + HEADERS
        while self.queued and self.queued[0][0] <= now:
            self.queued_bytes -= self.queued.popleft()[1]
        if self.queued_bytes + size > self.limit:
            self.dropped += 1
            return
        begin = max(now, self.busy_until)
        self.busy_until = begin + size * 8 / self.rate(begin)
        self.queued.append((self.busy_until, size))
        self.queued_bytes += size
        if self.random.random() < self.loss:
            self.lost += 1
            return
        arrival = self.busy_until + self.delay + self.random.random() * self.jitter
        self.last_arrival = max(self.last_arrival, arrival)
        self.loop.call_later(self.last_arrival - now, self.arrive, data)

    def arrive(self, data):
        self.received += len(data)
        self.far.send(data)

    def back(self, data):
        """From the receiver: only delayed."""
        self.loop.call_later(self.delay, self.near.send, data)

    def close(self):
        self.near.transport.close()
        self.far.transport.close()


def redirect(sdp, port):
    """The description with one candidate: the link's door. Returns it and the address that it had."""
    lines, address = [], None
    for line in sdp.splitlines():
        if line.startswith("a=candidate:"):
            fields = line.split()
            if address is None and fields[2].lower() == "udp" and fields[4].startswith("127."):
                address = (fields[4], int(fields[5]))
                fields[4], fields[5] = "127.0.0.1", str(port)
                lines.append(" ".join(fields))
            continue
        lines.append(line)
    if address is None:
        raise RuntimeError("the peer has no candidate on loopback")
    return "\r\n".join(lines) + "\r\n", address
