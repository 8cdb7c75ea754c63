"""One call between two peers, from joining to hanging up."""

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count

from support.waiting import wait_until

_rooms = count(100)


def new_room():
    """A room that no other test of this process uses; each process has a server of its own."""
    return next(_rooms)


@dataclass
class CallResult:
    caller: object
    callee: object


def hold_call(make_caller, make_callee, frames=60, tones=6, during=None, first="callee"):
    """Joins both, talks until both have received so many frames and half seconds of sound; ends both; returns the
    evidence.

    Over the seed's server the caller has to be `first`, unless it is one that calls unseen: only those present are told
    about a newcomer, and who is told calls.
    """
    with ExitStack() as stack:
        peers = []

        def start(make):
            peer = make()
            peers.append(peer)
            stack.callback(peer.close)
            return peer

        try:
            makers = {"caller": make_caller, "callee": make_callee}
            joined = {}
            for role in (first, "callee" if first == "caller" else "caller"):
                joined[role] = start(makers[role])
                joined[role].wait_joined()
            caller, callee = joined["caller"], joined["callee"]
            for peer in peers:
                peer.wait_connected()
            if during:
                during(caller, callee)
            before = {peer: peer.received() for peer in peers}

            def enough():
                return all(
                    now - earlier >= wanted
                    for peer in peers
                    for now, earlier, wanted in zip(peer.received(), before[peer], (frames, tones))
                )

            wait_until(enough, "both sides received enough picture and sound")
            for peer in peers:
                peer.collect()
            result = CallResult(caller=caller.finish(), callee=callee.finish())
            result.caller.tones, result.callee.tones = callee.tones, caller.tones
            return result
        except Exception as error:
            error.add_note("\n".join(peer.transcript() for peer in peers))
            raise
