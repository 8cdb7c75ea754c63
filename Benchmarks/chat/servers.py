"""The servers of the benchmark, each on loopback, in a folder of its own, for the length of a `with`."""

import contextlib
import glob
import itertools
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from people import COLUMNS


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def stop(process, kind=signal.SIGTERM, patience=20):
    if process.poll() is not None:
        return
    process.send_signal(kind)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Roost:
    """`roost serve --data` on a folder, which stays when it has gone."""

    target = "roost"

    def __init__(self, binary, folder, database=None):
        self.binary, self.folder, self.database = binary, folder, database

    def __enter__(self):
        self.log = open(self.folder / "log", "a")
        command = [
            self.binary, "serve", "--data", self.folder, "--port", "0", "--signaling-port", "0", "--no-echo", "--json",
            "--host", "127.0.0.1"]
        if self.database:
            command += ["--database", self.database]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        self.pid = self.process.pid
        # Ends the loop when nothing comes.
        timer = threading.Timer(60, self.process.kill)
        timer.start()
        for line in self.process.stdout:
            event = json.loads(line)
            if event.get("event") == "listening":
                timer.cancel()
                self.address = f"127.0.0.1:{event['port']}"
                return self
        timer.cancel()
        self.__exit__()
        sys.exit(f"roost has not come up:\n{(self.folder / 'log').read_text()[-2000:]}")

    def __exit__(self, *_):
        stop(self.process, signal.SIGINT)
        self.process.stdout.close()
        self.log.close()


def fill_sqlite(folder, rows, each=lambda *_: None):
    """Writes rows into the database of a server that has stopped. Returns the secret of its tokens."""
    with contextlib.closing(sqlite3.connect(folder / "chat.sqlite")) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -200000")
        # What the index of words is made of: of ASCII, the words themselves.
        database.create_function("roost_search_text", 1, lambda text: text, deterministic=True)

        def insert(table, values):
            columns = COLUMNS[table]
            places = ", ".join("?" * len(columns.split(",")))
            database.executemany(
                f"INSERT INTO {table} ({columns}) VALUES ({places})",
                (tuple(one.bytes if isinstance(one, uuid.UUID) else one for one in row) for row in values))

        with database:
            for table, values in rows.tables.items():
                insert(table, values)
            insert("messages", rows.all_messages(each))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return database.execute("SELECT value FROM settings WHERE name = 'token_secret'").fetchone()[0]


class Postgres:
    """A PostgreSQL server, which waits for the disk at each commit as it comes, behind a socket of its own."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="roost-bench-"))
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs:
            sys.exit("PostgreSQL is missing: install postgresql.")
        # It does not run as root.
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        if self.user:
            shutil.chown(self.folder, "postgres", "postgres")
        subprocess.run(
            [*self.user, f"{programs[-1]}/initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust", "-E",
             "UTF8", "-N"], check=True, cwd="/", stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [*self.user, f"{programs[-1]}/postgres", "-D", self.folder / "data", "-k", self.folder, "-h", "", "-c",
             "max_connections=200", "-c", "max_wal_size=4GB", "-c", "log_min_messages=fatal"],
            cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            if subprocess.run(["pg_isready", "-q", "-h", self.folder]).returncode == 0:
                break
            time.sleep(0.1)
        else:
            self.__exit__()
            sys.exit("PostgreSQL has not come up.")
        self.url = f"postgresql://postgres@/postgres?host={self.folder}"
        return self

    def __exit__(self, *_):
        stop(self.process, signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def psql(self, sql):
        done = subprocess.run(
            ["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def fill(self, rows, each=lambda *_: None):
        """As `fill_sqlite`."""
        for table, values in [*rows.tables.items(), ("messages", rows.all_messages(each))]:
            copy = subprocess.Popen(
                ["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", f"COPY {table} ({COLUMNS[table]}) FROM STDIN", self.url],
                stdin=subprocess.PIPE, text=True)
            values = iter(values)
            while some := list(itertools.islice(values, 1_000)):
                copy.stdin.write("".join("\t".join(map(self.text, row)) + "\n" for row in some))
            copy.stdin.close()
            if copy.wait() != 0:
                sys.exit(f"PostgreSQL has not taken the rows of {table}.")
        # What its autovacuum would have done by and by.
        self.psql("VACUUM ANALYZE")
        self.psql("CHECKPOINT")
        return self.psql("SELECT value FROM settings WHERE name = 'token_secret'")

    @staticmethod
    def text(value):
        return "\\\\x" + value.hex() if isinstance(value, bytes) else str(value)


class Ejabberd:
    """ejabberd with a room for many: no TLS, no shapers, no history of rooms, whoever comes is let in by whatever
    password. It is alone on its node, so that neither its name service nor its port is needed."""

    target = "xmpp"

    def __init__(self, is_archiving=False, is_spinning=False):
        self.is_archiving, self.is_spinning = is_archiving, is_spinning

    def configuration(self):
        modules = {
            "mod_disco": {}, "mod_roster": {}, "mod_muc": {
                "access": "all", "access_create": "all", "history_size": 0, "max_users": 10_000,
                "max_users_presence": 0, "max_user_conferences": 10, "min_message_interval": 0,
                "min_presence_interval": 0,
                "default_room_options": {
                    "max_users": 10_000, "mam": self.is_archiving, "presence_broadcast": [], "public": False,
                    "persistent": False, "logging": False}}}
        if self.is_archiving:
            # Rooms only: Roost keeps each message once, too.
            modules["mod_mam"] = {"db_type": "mnesia", "default": "never"}
        return {
            "hosts": ["localhost"], "loglevel": "warning", "auth_method": ["anonymous"],
            "anonymous_protocol": "login_anon", "allow_multiple_connections": False,
            "disable_sasl_mechanisms": ["digest-md5", "X-OAUTH2", "anonymous"],
            "listen": [{
                "port": self.port, "ip": "127.0.0.1", "module": "ejabberd_c2s", "max_stanza_size": 262_144,
                "shaper": "none", "access": "all", "backlog": 1_000}],
            "modules": modules}

    def __enter__(self):
        libraries = glob.glob("/usr/lib/*/ejabberd-*") + glob.glob("/usr/lib/erlang/lib/ejabberd-*")
        if not libraries:
            sys.exit("ejabberd is missing: install ejabberd.")
        self.folder = Path(tempfile.mkdtemp(prefix="roost-bench-"))
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        # JSON is YAML as well.
        (self.folder / "ejabberd.yml").write_text(json.dumps(self.configuration()))
        environment = os.environ | {
            "EJABBERD_CONFIG_PATH": str(self.folder / "ejabberd.yml"),
            "EJABBERD_LOG_PATH": str(self.folder / "ejabberd.log"),
            "ERL_LIBS": str(Path(libraries[0]).parent), "HOME": str(self.folder), "ERL_CRASH_DUMP_BYTES": "0",
            "ERL_MAX_PORTS": "32000"}
        # What `ejabberdctl foreground` has, without a node's name. Erlang's threads spin for a while before they sleep,
        # which is CPU time that does nothing for anybody: measured with it, as it comes, and without.
        spin = [] if self.is_spinning else ["+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"]
        self.process = subprocess.Popen(
            ["erl", "-noinput", "+K", "true", "+P", "250000", *spin, "-mnesia", "dir", f'"{self.folder}"', "-s",
             "ejabberd"],
            cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=open(self.folder / "output", "w"),
            stderr=subprocess.STDOUT)
        self.pid = self.process.pid
        for _ in range(600):
            if is_listening(self.port):
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        paths = [self.folder / "output", self.folder / "ejabberd.log"]
        logs = "".join(path.read_text()[-2000:] for path in paths if path.exists())
        self.__exit__()
        sys.exit(f"ejabberd has not come up:\n{logs}")

    def __exit__(self, *_):
        # It would say goodbye to everybody first.
        stop(self.process, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
