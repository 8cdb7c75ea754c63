"""The links of `Sources/CongestionLinks/LinkProfile.swift` that are also measured over real sockets."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Profile:
    seconds: float
    capacity: tuple
    """(from second, bits a second), the first from 0."""
    delay: float = 0.025
    """One way, in seconds; as much back."""
    queue: float = 0.3
    """What it holds, in seconds at the highest capacity; a packet that finds it full is dropped."""
    loss: float = 0.0
    """The chance of a packet to be lost behind the queue; the way back loses none."""
    jitter: float = 0.0
    """Added to the delay, evenly from nothing to this; packets keep their order."""
    second_call: float | None = None
    """From when on."""
    download: tuple | None = None
    """TCP (CUBIC), from when until when."""

    @property
    def limit(self):
        """Of the queue, in bytes."""
        return max(rate for _, rate in self.capacity) * self.queue / 8

    def rate(self, at):
        return [rate for since, rate in self.capacity if since <= max(at, 0)][-1]


LINKS = {
    "steady": Profile(60, ((0, 1e6),)),
    "step": Profile(100, ((0, 2.5e6), (40, 0.5e6), (65, 2.5e6))),
    "loss": Profile(60, ((0, 1e6),), loss=0.05),
    "bufferbloat": Profile(60, ((0, 1e6),), queue=2.0),
    "download": Profile(90, ((0, 2e6),), download=(20, 60)),
    "two-calls": Profile(120, ((0, 2e6),), second_call=20),
    "long-way": Profile(60, ((0, 1e6),), delay=0.15),
}
