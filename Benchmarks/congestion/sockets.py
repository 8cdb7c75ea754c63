#!/usr/bin/env python3
"""The links (links.py) over real sockets, in network namespaces of its own.

    sockets.py PROGRAM DIRECTORY SENDER-RECEIVER [NAME...]      writes SENDER-RECEIVER-NAME.csv

SENDER and RECEIVER are `roost` (PROGRAM, which is congestion-peer) or `aiortc`. With `--netem` before PROGRAM the link is
the kernel's (netem.py) and not a program's (link.py). Needs root.
"""

import asyncio
import json
import os
import pathlib
import sys

from links import LINKS

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent.parent / "Interop"))
from support.namespace import WIRE_ADDRESSES, Namespace  # noqa: E402

AT_ONCE = 3
"""Links side by side. Each is mostly waiting."""
MTU = 1500
BEGINNING = 15
"""Seconds that the summary leaves out."""


class Network:
    """Two namespaces, a link between them, and what runs in them."""

    def __init__(self, profile):
        self.profile = profile
        self.near, self.far = self.ends = [Namespace(address) for address in WIRE_ADDRESSES]

    async def start(self, end, *command):
        return await asyncio.create_subprocess_exec(
            *end.command(*command), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20
        )

    async def open(self, name, program):
        self.link = await asyncio.create_subprocess_exec(
            sys.executable, str(HERE / program), name, *(str(end.holder.pid) for end in self.ends),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )
        if await self.link.stdout.readline() != b"ready\n":
            raise RuntimeError("the link did not come up")
        for end, other in (self.ends, self.ends[::-1]):
            end.ip("addr", "add", end.address, "peer", other.address, "dev", "wire0")
            end.ip("link", "set", "wire0", "mtu", MTU, "up")
        return self

    async def close(self):
        self.link.stdin.close()
        await self.link.wait()
        for end in self.ends:
            end.close()


async def say(process, description):
    process.stdin.write((json.dumps(description) + "\n").encode())
    await process.stdin.drain()


async def listen(process, news):
    """Notes what a sender's estimator says."""
    while line := await process.stdout.readline():
        news["target"] = json.loads(line)["target"]
    await process.wait()


class Run:
    def __init__(self, programs, kinds, name, link):
        self.programs, self.kinds, self.name, self.link = programs, kinds, name, link
        self.profile = LINKS[name]
        self.targets = []

    async def call(self, seconds, has_answered=lambda: None):
        """One call from its offer to its end."""
        network, news = self.network, {"target": 0}
        sender, receiver = [
            await network.start(end, *self.programs[kind], role, more + seconds, end.address)
            for end, kind, role, more in zip(network.ends, self.kinds, ("send", "receive"), (0, 2))
        ]
        await say(receiver, json.loads(await sender.stdout.readline()))
        await say(sender, json.loads(await receiver.stdout.readline()))
        self.targets.append(news)
        has_answered()
        await listen(sender, news)
        receiver.stdin.close()
        await receiver.wait()

    async def download(self, since, until):
        await asyncio.sleep(since)
        tcp = (sys.executable, HERE / "tcp.py")
        receiver = await self.network.start(self.network.far, *tcp, "receive", self.network.far.address)
        port = int(await receiver.stdout.readline())
        sender = await self.network.start(
            self.network.near, *tcp, "send", self.network.far.address, port, until - since)
        await sender.wait()
        await receiver.wait()

    async def later_call(self, since):
        await asyncio.sleep(since)
        await self.call(self.profile.seconds - since)

    async def samples(self):
        rows = []
        while len(rows) < self.profile.seconds * 10 and (line := await self.network.link.stdout.readline()):
            rows.append({**json.loads(line), "targets": [news["target"] for news in self.targets]})
        return rows

    async def measure(self):
        self.network = await Network(self.profile).open(self.name, self.link)
        answered = asyncio.Event()
        tasks = [asyncio.create_task(self.call(self.profile.seconds, answered.set))]
        await answered.wait()
        self.network.link.stdin.write(b"begin\n")
        if self.profile.second_call:
            tasks.append(asyncio.create_task(self.later_call(self.profile.second_call)))
        if self.profile.download:
            tasks.append(asyncio.create_task(self.download(*self.profile.download)))
        rows = await self.samples()
        await asyncio.gather(*tasks)
        await self.network.close()
        return rows


def table(profile, rows):
    """The rows as the simulator's CSV has them: a flow's target, and what of it came out, in kbit/s."""
    flows = 2 if profile.second_call or profile.download else 1
    names = [f"{what}_{flow}_kbps" for flow in range(flows) for what in ("target", "received")]
    yield ["time_s", "capacity_kbps", "queue_ms", "dropped", "lost", *names, "late_ms"]
    for row in rows:
        received = row["calls"] + [row["tcp"]] if profile.download else row["calls"]
        fields = [row["at"], row["capacity"] / 1e3, row["queue"] * 1e3, row["dropped"], row["lost"]]
        for flow in range(flows):
            fields.append(row["targets"][flow] / 1e3 if flow < len(row["targets"]) else 0)
            fields.append(received[flow] * 8 / 100 if flow < len(received) else 0)
        yield [f"{field:.1f}" for field in [*fields, row["late"] * 1e3]]


def summary(profile, kinds, name, lines):
    names, rows = lines[0], [dict(zip(lines[0], map(float, line))) for line in lines[1:]]
    late = [row for row in rows if row["time_s"] > BEGINNING]
    capacity = sum(row["capacity_kbps"] for row in late)
    flows = [name for name in names if name.startswith("received")]
    used = " + ".join(f"{sum(row[flow] for row in late) / capacity * 100:.0f}" for flow in flows)

    def percentile(what, share):
        return sorted(row[what] for row in late)[int(len(late) * share)]

    return (f"| {name} | {kinds} | {used} | {percentile('queue_ms', 0.95):.0f} | {rows[-1]['dropped']:.0f} | "
            f"{percentile('late_ms', 0.99):.0f} |")


async def main(arguments):
    link = "link.py"
    if arguments[0] == "--netem":
        link, arguments = "netem.py", arguments[1:]
    program, directory, pair = arguments[0], pathlib.Path(arguments[1]), arguments[2]
    programs = {"roost": (pathlib.Path(program).resolve(),), "aiortc": (sys.executable, HERE / "aiortc_peer.py")}
    directory.mkdir(parents=True, exist_ok=True)
    turns = asyncio.Semaphore(AT_ONCE)

    async def run(name):
        async with turns:
            lines = list(table(LINKS[name], await Run(programs, pair.split("-"), name, link).measure()))
        (directory / f"{pair}-{name}.csv").write_text("".join(",".join(line) + "\n" for line in lines))
        print(summary(LINKS[name], pair.replace("-", " to "), name, lines), flush=True)

    print("| link | call | used after 15 s, % | queue, 95th percentile, ms | dropped | link late, 99th percentile, ms |")
    print("|---|---|---|---|---|---|")
    await asyncio.gather(*(run(name) for name in arguments[3:] or LINKS))


if __name__ == "__main__":
    # The link and the peers need little of the processor, and that at once; the kernel leaves a twentieth to others.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    asyncio.run(main(sys.argv[1:]))
