"""Runs the load against each server in turns, round by round, and prints ratios within a round.

A server's figure is its process's CPU time, user and system, for each packet that reached a subscriber. Machines change
their speed from minute to minute, so figures are compared within a round only, and the order changes with each.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE / ".build"
JANUS_ADDRESS = "127.1.1.1"


class Server:
    """A server for the length of a `with`; `load` is how the load program finds it."""

    name = ""
    load = []
    port = 0

    def command(self):
        raise NotImplementedError

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = open(Path(self.folder.name) / "log", "w+")
        self.process = subprocess.Popen(self.command(), stdout=self.log, stderr=subprocess.STDOUT)
        for _ in range(100):
            if is_listening(self.port):
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.log.seek(0)
        sys.exit(f"{self.name} does not listen:\n{self.log.read()}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT if self.name == "roost" else signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()


class Roost(Server):
    name, port = "roost", 7880
    load = ["-target", "livekit", "-url", "ws://127.0.0.1:7880", "-key", "load:of-a-benchmark-that-is-no-secret"]

    def command(self):
        return [
            arguments.roost, "serve", "--host", "127.0.0.1", "--port", "0", "--signaling-port", "0", "--no-echo",
            "--livekit-key", self.load[-1], "--livekit-port", str(self.port), "--media-port", "7882", "--no-media-tcp",
            "--media-workers", str(arguments.workers), "--json",
        ]


class Pion(Server):
    name, port = "pion", 7900
    load = ["-target", "pion"]

    def command(self):
        return [BUILT / "pionsfu"]


class Janus(Server):
    """With event loops, its setting for many subscribers; as it comes it has a thread for each."""

    name, port, loops = "janus", 8188, "event_loops = 2"
    load = ["-target", "janus", "-address", JANUS_ADDRESS]

    def command(self):
        for file in (HERE / "peers/janus").iterdir():
            text = file.read_text().replace("@FOLDER@", self.folder.name).replace("@EVENT_LOOPS@", self.loops)
            (Path(self.folder.name) / file.name).write_text(text)
        return ["janus", "-F", self.folder.name, "-C", f"{self.folder.name}/janus.jcfg"]


class JanusThreads(Janus):
    name, loops = "janus-threads", ""


SERVERS = {server.name: server for server in (Roost, Pion, Janus, JanusThreads)}


def is_listening(port):
    listening = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"}
    return any(int(address.split(":")[1], 16) == port for address in listening)


def load(server, *options):
    """One run; the load program's figures."""
    kind = SERVERS[server]()
    with kind:
        command = [BUILT / "load", *kind.load, "-label", kind.name, "-pid", kind.process.pid, *options]
        done = subprocess.run(map(str, command), capture_output=True, text=True, timeout=300)
        if done.returncode:
            sys.exit(f"load against {server} failed:\n{done.stderr}")
        figures = json.loads(done.stdout)
    if figures["failed"]:
        print(f"  {server}: {figures['failed']} subscribers failed\n{done.stderr}", file=sys.stderr)
    return figures


def floor(count, rate, profile, burst):
    command = [BUILT / "floor", count, rate, arguments.seconds, profile, burst]
    done = subprocess.run(map(str, command), capture_output=True, text=True, timeout=120, check=True)
    return {"label": "floor", "subscribers": count, "srtp": profile, "burst": burst, "cpu_us_per_packet": float(done.stdout)}


def write(figures, part):
    with open(arguments.results, "a") as file:
        file.write(json.dumps({"part": part, **figures}) + "\n")


def ratios(rows, base):
    """For each server its ratio to the base, a round at a time: lowest, median, highest."""
    for name in rows[0]:
        values = [row[name]["cpu_us_per_packet"] / row[base]["cpu_us_per_packet"] for row in rows]
        yield name, min(values), statistics.median(values), max(values)


def compare(part, title, count, profile, burst, peers):
    """One table: one publisher and so many subscribers."""
    rows = []
    for number in range(arguments.rounds):
        row = {}
        for name in peers[number % len(peers):] + peers[:number % len(peers)]:
            if name == "floor":
                row[name] = floor(count, 200, profile, burst)
            else:
                row[name] = load(
                    name, "-subscribers", count, "-srtp", profile, "-burst", burst, "-seconds", arguments.seconds)
            write(row[name], part)
        rows.append({name: row[name] for name in peers})
    base = "pion" if "pion" in peers else peers[0]
    print(f"\n{title}: {count} subscribers, {'AES-GCM' if profile == 'gcm' else 'AES-CM'}, bursts of {burst}")
    print(f"{'':14}{'µs/packet':>10}{'to ' + base + ': least':>18}{'median':>8}{'most':>7}"
          f"{'p50 ms':>8}{'p99 ms':>8}{'MiB':>7}{'lost %':>8}{'joined ms':>10}")
    for name, least, median, most in ratios(rows, base):
        def middle(key, scale=1):
            values = [row[name][key] / scale for row in rows if key in row[name]]
            return f"{statistics.median(values):.2f}" if values else ""

        print(f"{name:14}{middle('cpu_us_per_packet'):>10}{least:>18.2f}{median:>8.2f}{most:>7.2f}"
              f"{middle('latency_us_p50', 1000):>8}{middle('latency_us_p99', 1000):>8}{middle('resident_kib', 1024):>7}"
              f"{middle('loss_percent'):>8}{middle('connected_ms_p50'):>10}", flush=True)


def memory(peers, counts):
    """What another subscriber costs: the slope between the fewest and the most."""
    few, many = counts[0], counts[-1]
    print(f"\nMemory: KiB for each subscriber, between {few} and {many}")
    for name in peers:
        sizes = [load(name, "-subscribers", count, "-srtp", "gcm", "-seconds", 2)["resident_kib"] for count in (few, many)]
        print(f"{name:14}{(sizes[1] - sizes[0]) / (many - few):>10.0f}", flush=True)


def curve(part, title, steps, options):
    """Roost alone, more and more of it, until packets are lost or the machine is busy."""
    print(f"\n{title}\n{'':>8}{'packets/s':>11}{'µs/packet':>10}{'server CPU %':>13}{'load CPU %':>11}"
          f"{'p50 ms':>8}{'p99 ms':>8}{'late':>6}{'lost %':>8}{'MiB':>7}")
    for step in steps:
        figures = load("roost", *options(step), "-seconds", arguments.seconds)
        write({**figures, "step": step}, part)
        print(f"{step:>8}{figures['forwarded_per_second']:>11.0f}{figures['cpu_us_per_packet']:>10.2f}"
              f"{figures['cpu_percent']:>13.0f}{figures['load_cpu_percent']:>11.0f}{figures['latency_us_p50'] / 1000:>8.2f}"
              f"{figures['latency_us_p99'] / 1000:>8.2f}{figures['late_subscribers']:>6}"
              f"{figures['loss_percent']:>8.2f}{figures['resident_kib'] / 1024:>7.0f}",
              flush=True)
        if figures["loss_percent"] > 1:
            break


parser = argparse.ArgumentParser()
parser.add_argument("rounds", type=int)
parser.add_argument("--roost", required=True)
parser.add_argument("--seconds", type=float, default=float(os.environ.get("WINDOW", 5)))
parser.add_argument("--workers", type=int, default=1)
parser.add_argument("--results", default=str(BUILT / "results.jsonl"))
arguments = parser.parse_args()
parts = os.environ.get("ONLY", "fan bursts memory audio meetings").split()
counts = [int(count) for count in os.environ.get("COUNTS", "1 10 50 100 300").split()]
peers = os.environ.get("PEERS", "floor pion janus janus-threads").split()
if not shutil.which("janus"):
    peers = [name for name in peers if not name.startswith("janus")]
    print("Janus is left out: it is not installed.", file=sys.stderr)
others = ["roost", *peers]

if "fan" in parts:
    for count in counts:
        compare("fan", "One publisher", count, "gcm", 1, others)
    compare("fan", "One publisher", 100, "cm", 1, others)
if "bursts" in parts:
    for burst in (5, 20):
        compare("bursts", "One publisher, frames as bursts", 100, "gcm", burst, others)
if "memory" in parts:
    memory([name for name in others if name != "floor"], [10, 100])
if "audio" in parts:
    curve("audio", "Sound alone: ten publishers, and so many who hear them", [10, 25, 50, 100, 200],
          lambda step: ["-publishers", 10, "-subscribers", step, "-video-rate", 0, "-srtp", "gcm"])
if "meetings" in parts:
    curve("meetings", "Meetings of five people who all send and receive: so many rooms", [1, 2, 4, 6, 8, 12, 16],
          lambda step: ["-rooms", step, "-publishers", 5, "-meeting", "-srtp", "gcm"])
