"""`roost demo`: what it says is true, and it leaves nothing behind, however it ends."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from peers.roost_peer import find_roost
from support.evidence import REPOSITORY


@pytest.fixture
def demo(tmp_path):
    """Starts the demo in a session of its own; what is left of it is ended afterwards."""
    started = []

    def start(*options):
        if find_roost() is None:
            pytest.fail("there is no roost binary: run `swift build --product roost`, or name one in $ROOST_BIN")
        process = subprocess.Popen(
            [find_roost(), "demo", "--output", tmp_path, *options], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            cwd=REPOSITORY,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        for child in children(process.pid):
            os.kill(child, signal.SIGKILL)
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def children(parent):
    """The processes that this one started and that still run, by what they do: serve, call --callee, call --caller."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return sorted(found)


def command(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


def runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.1)


def in_call(process, output):
    """Waits for both recordings to fill: the call is up. Returns the three children."""
    until(lambda: sum(file.stat().st_size > 50_000 for file in output.glob("*-received*")) == 2)
    found = children(process.pid)
    assert len(found) == 3
    return found


def end_of(process, seconds):
    """What it has said by its end."""
    try:
        return process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired as late:
        running = [command(child) for child in children(process.pid)]
        raise AssertionError(f"it runs on, with {running}; it said {late.output}") from late


def test_a_call_that_is_well_passes_and_leaves_a_report(demo, tmp_path):
    process = demo("--duration", "4s")
    text = end_of(process, 90)
    assert process.returncode == 0, text
    assert text.count("each the next one that was sent") == 2
    page = (tmp_path / "report.html").read_text()
    assert "Both sides received the frames that were sent" in page
    assert page.count("data:image/png") == 6
    assert len(list(tmp_path.glob("*-received*"))) == 2


def test_an_interrupted_demo_says_so(demo, tmp_path):
    process = demo("--duration", "30s")
    in_call(process, tmp_path)
    # As a terminal does: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    text = end_of(process, 60)
    assert process.returncode == 130, text
    assert "The demo was interrupted. Until then:" in text
    assert "missing" not in text and "only" not in text
    assert "Interrupted" in (tmp_path / "report.html").read_text()


def test_a_demo_that_is_killed_takes_its_processes_along(demo, tmp_path):
    process = demo("--duration", "60s")
    started = in_call(process, tmp_path)
    process.kill()
    until(lambda: not any(runs(child) for child in started), 15)


def test_a_side_that_freezes_does_not_hold_the_demo(demo, tmp_path):
    process = demo("--duration", "4s")
    started = in_call(process, tmp_path)
    frozen = next(child for child in started if "--callee" in command(child))
    os.kill(frozen, signal.SIGSTOP)
    text = end_of(process, 100)
    assert process.returncode == 1, text
    assert "Callee: failed: " in text and "it did not end within" in text
    assert "Failed" in (tmp_path / "report.html").read_text()
    assert not any(runs(child) for child in started)


def test_a_demo_that_is_held_while_its_call_ends_hears_of_the_end(demo, tmp_path):
    process = demo("--duration", "4s")
    sides = [child for child in in_call(process, tmp_path) if "call" in command(child)]
    # As by Ctrl-Z: all that the two say at last is there at once when it goes on.
    os.kill(process.pid, signal.SIGSTOP)
    try:
        until(lambda: not any(runs(child) for child in sides))
    finally:
        os.kill(process.pid, signal.SIGCONT)
    text = end_of(process, 60)
    assert process.returncode == 0, text
    assert text.count("each the next one that was sent") == 2


def test_the_folder_that_it_makes_is_for_its_user_alone(demo, tmp_path):
    folder = tmp_path / "monday"
    # The last one counts.
    demo("--output", folder, "--duration", "60s")
    until(lambda: folder.exists() and folder.stat().st_mode & 0o777 == 0o700)
