"""Debian's PostgreSQL for tests: in a folder of its own, reached by a socket in it, gone with the tests."""

import glob
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from support.waiting import PATIENCE, wait_until

# Whoever holds its standard input open holds the server; `stop` and `start` are lines of it.
LIFELINE = """
"$@" & server=$!
while read -r order; do
    case $order in
    stop) kill -QUIT $server; wait $server ;;
    start) "$@" & server=$! ;;
    esac
done
kill -INT $server; wait $server; rm -rf "$0"
"""


class Postgres:
    def __init__(self):
        programs = glob.glob("/usr/lib/postgresql/*/bin/postgres")
        assert programs, "PostgreSQL is missing: install postgresql"
        newest = Path(max(programs, key=lambda path: int(path.split("/")[4]))).parent
        self.folder = Path(tempfile.mkdtemp(prefix="roost-postgres-"))
        self._numbers = itertools.count(1)
        # It does not run as root.
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        if user:
            shutil.chown(self.folder, "postgres", "postgres")
        data = self.folder / "data"
        subprocess.run(
            [*user, newest / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"],
            check=True, cwd="/", stdout=subprocess.DEVNULL)
        # Nothing of it is to last, so nothing waits for the disk.
        server = [newest / "postgres", "-D", data, "-k", self.folder, "-h", "", "-F", "-c", "max_connections=300",
                  "-c", "full_page_writes=off", "-c", "log_min_messages=fatal"]
        self._process = subprocess.Popen(
            ["sh", "-c", LIFELINE, self.folder, *user, *server], cwd="/", stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        wait_until(self._is_ready, "PostgreSQL takes connections")

    def _is_ready(self):
        return subprocess.run(["pg_isready", "-q", "-h", self.folder], check=False).returncode == 0

    def _order(self, word):
        self._process.stdin.write(f"{word}\n".encode())
        self._process.stdin.flush()

    def stop(self):
        """As a machine that fails: whoever is connected is cut off. What was committed is there after `start`."""
        self._order("stop")
        wait_until(lambda: not self._is_ready(), "PostgreSQL is gone")

    def start(self):
        self._order("start")
        wait_until(self._is_ready, "PostgreSQL is back")

    def database(self):
        """The URL of a database that has nothing in it."""
        name = f"test{next(self._numbers)}"
        subprocess.run(
            ["psql", "-qX", "-h", self.folder, "-U", "postgres", "-c", f"CREATE DATABASE {name} TEMPLATE template0"],
            check=True, stdout=subprocess.DEVNULL)
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def close(self):
        self._process.stdin.close()
        self._process.wait(PATIENCE)
