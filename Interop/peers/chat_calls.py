"""Calls of the chat, as those see them who are told of them."""


def states(call):
    return {one["user"]["id"]: one["state"] for one in call["participants"]}


def over(socket, call, reason):
    """The call's end as somebody is told of it."""
    ended = socket.wait_for("call_ended", id=call["id"])["data"]
    assert ended["end_reason"] == reason and ended["ended_at"], ended
    return ended
