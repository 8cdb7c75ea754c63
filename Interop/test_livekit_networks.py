"""A host whose networks change while `roost serve` runs on all of its addresses: media go on, and newcomers come in by the
new address."""

import pytest

from peers.livekit_room import Server
from support.namespace import Namespace
from support.waiting import wait_until

BEFORE, AFTER = "192.0.2.3", "198.51.100.7"


class MovingServer(Server):
    """Whose signaling is reached by loopback, as through a proxy on the same host, which stays."""

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}"


@pytest.fixture
def sfu():
    """In a network of the test's own, for it is changed."""
    namespace = Namespace(BEFORE).add_interface()
    server = MovingServer(namespace, host="0.0.0.0")
    yield server
    code = server.close()
    namespace.close()
    assert code == 0


def move(server, lost, found):
    """One address goes and another comes, as when a laptop is carried from one network into another."""
    ip = server.namespace.ip
    ip("addr", "del", f"{lost}/32", "dev", "media0")
    ip("addr", "add", f"{found}/32", "dev", "media0")


@pytest.mark.parametrize("mode", [(), ("--dual",)], ids=["single", "dual"])
def test_who_is_there_goes_on_and_who_comes_finds_the_new_address(sfu, room, mode):
    ann, bob = sfu.join(room, "ann", *mode), sfu.join(room, "bob", *mode)
    ann.publish(hertz=880)
    bob.wait_for("subscribed", who="ann", name="camera")
    bob.check_picture(name="camera")
    move(sfu, BEFORE, AFTER)
    wait_until(lambda: "media come in on other addresses" in sfu.process.transcript(), sfu.process.transcript)
    bob.report("camera", fresh=True)
    bob.report("microphone", fresh=True)
    bob.wait_until("camera", lambda report: len(report["counters"]) >= 60, "pictures go on")
    bob.wait_until("microphone", lambda report: len(report["hertz"]) >= 8, "sound goes on")
    eve = sfu.join(room, "eve", *mode)
    eve.wait_for("subscribed", who="ann", name="camera")
    eve.check_picture(name="camera")
    eve.check_sound(880)


def test_between_two_networks_nothing_is_given_up(sfu, room):
    """No address at all, and then the same one again: its sockets are still there."""
    ann, bob = sfu.join(room, "ann"), sfu.join(room, "bob")
    ann.publish(hertz=880)
    bob.wait_for("subscribed", who="ann", name="camera")
    bob.check_picture(name="camera")
    ip = sfu.namespace.ip
    ip("addr", "del", f"{BEFORE}/32", "dev", "media0")
    ip("addr", "add", f"{BEFORE}/32", "dev", "media0")
    bob.report("camera", fresh=True)
    bob.wait_until("camera", lambda report: len(report["counters"]) >= 60, "pictures go on")
    assert "other addresses" not in sfu.process.transcript()
