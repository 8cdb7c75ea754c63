"""A child process that says what happens as JSON lines."""

import json
import signal
import subprocess
import threading
import time

from support.waiting import PATIENCE


class JSONProcess:
    """Runs a command; collects its JSON lines; everything that waits has a deadline."""

    def __init__(self, name, command, **options):
        self.name = name
        self.events = []
        self.text = []
        self._changed = threading.Condition()
        # Whatever ends the test process, a kill among it, ends its children: none is left to hold a port or a core.
        with_its_parent = ["setpriv", "--pdeathsig", "KILL"]
        self._process = subprocess.Popen(
            [*with_its_parent, *(str(part) for part in command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, **{"stdin": subprocess.DEVNULL, **options},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                event = None
            with self._changed:
                if isinstance(event, dict):
                    self.events.append(event)
                else:
                    self.text.append(line)
                self._changed.notify_all()
        with self._changed:
            self._process.wait()
            self._changed.notify_all()

    def wait_for(self, event, timeout=PATIENCE, **fields):
        """The first line with this `event` and these fields. Fails with all that the process said."""
        deadline = time.monotonic() + timeout
        wanted = {"event": event, **fields}

        def found():
            return next((line for line in self.events if wanted.items() <= line.items()), None)

        with self._changed:
            while (line := found()) is None:
                left = deadline - time.monotonic()
                if left <= 0 or self._process.poll() is not None and not self._reader.is_alive():
                    raise AssertionError(f"{self.name} never said {wanted}.\n{self.transcript()}")
                self._changed.wait(min(left, 0.5))
            return line

    def tell(self, value):
        """A line of JSON on its standard input, for a process that was given one."""
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def last(self, event):
        """The newest line with this `event`; None when there is none."""
        with self._changed:
            return next((line for line in reversed(self.events) if line.get("event") == event), None)

    def transcript(self):
        lines = [json.dumps(event)[:300] for event in self.events[-25:]] + [text.rstrip() for text in self.text[-40:]]
        return f"--- {self.name} (status {self._process.poll()}):\n" + "\n".join(lines)

    def interrupt(self):
        self.send(signal.SIGINT)

    def send(self, number):
        if self._process.poll() is None:
            self._process.send_signal(number)

    @property
    def pid(self):
        return self._process.pid

    def wait(self, timeout=PATIENCE):
        """Its exit status, when it has ended by itself. Fails with all that it said when it does not."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end.\n{self.transcript()}") from None
        self._reader.join(timeout)
        return status

    def kill(self):
        """As a power cut does."""
        self._process.kill()

    def finish(self, timeout=PATIENCE):
        """Ends it as Ctrl-C does; returns its exit status. Killed when it does not go."""
        self.send(signal.SIGCONT)
        self.interrupt()
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            status = None
        self._reader.join(timeout)
        self._process.stdout.close()
        return status
