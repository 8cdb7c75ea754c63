"""Two ends of aioice, which aiortc is built on, that show each other nothing but relayed candidates: see --help.

Says what happens as JSON lines; ends when each has heard what the other said.
"""

import argparse
import asyncio
import json

from aioice import Connection, TransportPolicy


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def connection(arguments, controlling):
    return Connection(
        ice_controlling=controlling, turn_server=(arguments.host, arguments.port), turn_username=arguments.username,
        turn_password=arguments.password, turn_transport=arguments.transport, transport_policy=TransportPolicy.RELAY,
    )


async def run(arguments):
    ends = [connection(arguments, controlling) for controlling in (True, False)]
    for end in ends:
        await end.gather_candidates()
    say("gathered", types=[[candidate.type for candidate in end.local_candidates] for end in ends])
    for end, other in (ends, ends[::-1]):
        for candidate in other.local_candidates:
            await end.add_remote_candidate(candidate)
        await end.add_remote_candidate(None)
        end.remote_username, end.remote_password = other.local_username, other.local_password
    await asyncio.gather(*(end.connect() for end in ends))
    say("connected")
    messages = [bytes([number % 256]) * (1 + number * 20 % 1200) for number in range(arguments.count)]
    for end, other in (ends, ends[::-1]):
        for message in messages:
            await end.send(message)
            if await other.recv() != message:
                return say("wrong")
    for end in ends:
        await end.close()
    say("talked", messages=2 * len(messages))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("host", "username", "password"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--transport", choices=["udp", "tcp"], default="udp")
    parser.add_argument("--count", type=int, default=200)
    asyncio.run(run(parser.parse_args()))
