"""A PostgreSQL server of the tests' own: in a temporary directory, reached by a socket there."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

MISSING = (
    "the tests of stores need a PostgreSQL server: install it, for example with "
    "'sudo apt-get install postgresql', or run script/test as root"
)
_SETTINGS = """
listen_addresses = ''
max_connections = 40
logging_collector = off
"""
_QUICK = """
fsync = off
full_page_writes = off
shared_buffers = 16MB
autovacuum_naptime = 60min
"""


def program(name: str) -> Path:
    """Return a program of the newest PostgreSQL that is installed."""
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    for folder in sorted(folders, key=lambda path: int(path.parent.name), reverse=True):
        if (folder / name).exists():
            return folder / name
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    raise RuntimeError(MISSING)


class Server:
    """A server in a directory; it runs as somebody without privileges, as it insists on."""

    def __init__(self, directory: Path, *, durable: bool = False) -> None:
        self.directory, self.data = directory, directory / "data"
        self._who: dict[str, int] = {}
        if os.geteuid() == 0:
            somebody = pwd.getpwnam("nobody")
            os.chown(directory, somebody.pw_uid, somebody.pw_gid)
            self._who = {"user": somebody.pw_uid, "group": somebody.pw_gid}
        options = ["--no-sync", "--auth=trust", "--username=murmurs", "--encoding=UTF8"]
        self._run("initdb", *options, "--locale=C", "-D", str(self.data))
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"{_SETTINGS}unix_socket_directories = '{directory}'\n")
            file.write("" if durable else _QUICK)
        self.start()

    def _run(self, name: str, *arguments: str) -> None:
        log = self.directory / f"{name}.txt"
        with log.open("w") as output:
            done = subprocess.run(
                [program(name), *arguments],
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                cwd=self.directory,
                extra_groups=[] if self._who else None,
                check=False,
                timeout=60,
                **self._who,  # type: ignore[call-overload]
            )
        if done.returncode:
            raise RuntimeError(f"{name} failed: {log.read_text()}")

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        log = str(self.directory / "server.txt")
        self._run("pg_ctl", "start", "-w", "-s", "-D", str(self.data), "-l", log)

    def stop(self) -> None:
        """Stop the server, and break all connections."""
        self._run("pg_ctl", "stop", "-w", "-s", "-m", "immediate", "-D", str(self.data))

    def url(self, schema: str = "public") -> str:
        """Return the address of a schema in the server's database."""
        options = quote(f"-csearch_path={schema}")
        return f"postgresql:///postgres?host={self.directory}&user=murmurs&options={options}"


@contextlib.contextmanager
def running(*, durable: bool = False) -> Iterator[Server]:
    """Return a new server, which ends with the context; a durable one waits for the disk."""
    parent = "/tmp" if durable else _parent()
    options: dict[str, Any] = {"dir": parent, "ignore_cleanup_errors": True}
    with tempfile.TemporaryDirectory(prefix="murmurs-", **options) as folder:
        server = Server(Path(folder), durable=durable)
        try:
            yield server
        finally:
            server.stop()


def _parent() -> str:
    """Return where files are quickly made and deleted: in memory, if there is much."""
    memory = Path("/dev/shm")
    roomy = (
        memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**31
    )
    return str(memory) if roomy else "/tmp"
