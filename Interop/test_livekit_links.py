"""LiveKit's Python SDK behind a link that becomes narrow and wide again."""

import pytest

from peers.livekit_room import Server
from support.namespace import Wire

MODES = {"single": (), "dual": ("--dual",)}
both_modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


def wait_for_width(peer, is_wanted, what):
    """Of ten pictures in a row: one may come of a layer that is tried and left again."""
    def has_come(report):
        newest = [width for width, _ in report["sizes"][-10:]]
        return len(newest) == 10 and all(is_wanted(width) for width in newest)

    peer.wait_until("camera", has_come, what)


@both_modes
def test_pictures_are_small_while_the_link_is_narrow_and_sound_goes_on(mode):
    wire = Wire(loss=0, delay=0.01, jitter=0)
    near, far = wire.ends
    # What comes over TCP is not limited.
    server = Server(near, "--no-media-tcp")
    try:
        ann, bob = server.join("kitchen", "ann", *mode), server.join("kitchen", "bob", *mode, namespace=far)
        ann.publish(width=960, height=540, simulcast=True, rough=True, bitrate=1_000_000)
        wait_for_width(bob, lambda width: width > 640, "the largest layer")
        bob.report("microphone", fresh=True)
        # Sound and a small picture fit in, and nothing larger.
        wire.limit(300_000)
        wait_for_width(bob, lambda width: width <= 320, "the smallest layer")
        bob.report("camera", fresh=True)
        # Few a second, and with pauses where more was tried than fits.
        bob.check_picture(30, missing=5, stalls=1)
        largest = [width for width, _ in bob.report("camera")["sizes"] if width > 640]
        assert len(largest) <= 3, f"{largest} of the largest layer through a narrow link"
        wire.limit(0)
        wait_for_width(bob, lambda width: width > 640, "the largest layer again")
        bob.report("camera", fresh=True)
        bob.check_picture(30)
        # From before the link was narrow until it was wide again.
        bob.check_sound(880, 8, wrong=0.1)
    finally:
        assert server.close() == 0
        wire.close()
