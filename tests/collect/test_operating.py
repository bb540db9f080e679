"""What operators rely on: damage is said, copies do not stay, certificates are renewed."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from murmurs.collect import logs
from murmurs.collect.http.certificate import Certificate
from murmurs.collect.http.collector import Settings
from murmurs.collect.http.server import Address
from murmurs.collect.service import Plan, started
from murmurs.collect.stores import copying, open_store
from murmurs.collect.stores.sqlite import DATABASE
from murmurs.collect.stores.store import DamagedError, Part
from murmurs.collect.tokens import new_token
from murmurs.collect.upkeep import Schedule, Upkeep
from tests.cli.test_serve import write_certificate
from tests.collect.made import PLAIN, submission
from tests.collect.running import DAY, Running, running

# Damage


def spoil(place: Path) -> None:
    with contextlib.closing(apsw.Connection(str(place / DATABASE))) as db:
        db.execute("update counts set n = n + 1")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    place = tmp_path / "store"
    with contextlib.closing(open_store(place)) as store:
        store.publish(PLAIN, DAY)
        store.add([submission(PLAIN, 1)], DAY)
        store.fold()
    spoil(place)
    return place


def test_a_damaged_store_is_not_served_unless_the_operator_says_so(damaged: Path) -> None:
    plan = Plan(str(damaged), address=Address(port=0))
    with pytest.raises(DamagedError, match=r"not as it was written.*With --damaged"):
        started(plan).__enter__()
    with started(Plan(str(damaged), address=Address(port=0), damaged=True)) as found:
        assert found.url.startswith("http://")


def test_damage_that_comes_later_is_logged_and_measured_and_never_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    with running(tmp_path, PLAIN) as served:
        served.send(submission(PLAIN, 1), PLAIN)
        upkeep = Upkeep(served.collector, Schedule(verify_seconds=100), clock=lambda: now[0])
        upkeep._verified = 0.0
        now[0] = 99.0
        upkeep.once()
        spoil(tmp_path)
        token = served.token("read")
        upkeep.once()
        metrics = served.token("metrics")
        assert "murmurs_damaged 0" in served.get("/metrics", metrics).body.decode()
        now[0] = 101.0
        upkeep.once()
        assert "is damaged" in caplog.text
        assert "murmurs_damaged 1" in served.get("/metrics", metrics).body.decode()
        reply = served.get("/results/plain/hot", token)
        assert (reply.status, reply.error) == (503, "store")
        assert served.send(submission(PLAIN, 2), PLAIN).status == 200
        assert served.get("/ready").status == 200


def test_what_is_damaged_does_not_keep_the_rest_from_being_folded(damaged: Path) -> None:
    with contextlib.closing(open_store(damaged)) as store:
        store.add([submission(PLAIN, 2)], DAY)
        store.add([submission(PLAIN, 3)], DAY + 1)
        store.fold()
        assert store.counts(Part(PLAIN.fingerprint, "hot", first_day=DAY + 1)).n == 3
        with contextlib.closing(apsw.Connection(str(damaged / DATABASE))) as db:
            assert db.execute("select day from recent").fetchall() == [(DAY,)]


# Tokens


def test_a_token_called_first_does_not_keep_a_collector_from_starting(tmp_path: Path) -> None:
    with contextlib.closing(open_store(tmp_path)) as store:
        for name in ("first", "first2"):
            store.add_token(new_token(name, "read")[1])
    with started(Plan(str(tmp_path), address=Address(port=0))) as found:
        names = {token.name: token.scope for token in found.server.collector.store.tokens()}
    assert names == {"first": "read", "first2": "read", "first3": "admin"}


# Copies

KILLED = """
import sys, time
from pathlib import Path
from murmurs.collect.stores import copying
with copying.new_file(Path(sys.argv[1])) as path:
    path.write_bytes(b"half a copy")
    print("writing", flush=True)
    time.sleep(60)
"""


@contextlib.contextmanager
def writing(target: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is in the middle of a backup."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def test_what_a_killed_backup_leaves_is_deleted_by_the_next(tmp_path: Path) -> None:
    with contextlib.closing(open_store(tmp_path / "store")) as store:
        with writing(tmp_path / "monday") as process:
            store.backup(tmp_path / "tuesday")  # a backup that is being written stays
            assert len(list(tmp_path.glob(f"{copying.PREFIX}*"))) == 1
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert len(list(tmp_path.glob(f"{copying.PREFIX}*"))) == 1
        store.backup(tmp_path / "wednesday")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["store", "tuesday", "wednesday"]


def test_a_collector_deletes_what_a_killed_one_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for folder in (tmp_path, tmp_path / "store"):
        folder.mkdir(exist_ok=True)
        (folder / f"{copying.PREFIX}0123").write_bytes(b"reports")
        (folder / f"{copying.PREFIX}4567").mkdir()
        (folder / f"{copying.PREFIX}4567" / "inside").write_bytes(b"reports")
    (tmp_path / "other").touch()
    with started(Plan(str(tmp_path / "store"), address=Address(port=0))):
        assert not list(tmp_path.rglob(f"{copying.PREFIX}*"))
        assert (tmp_path / "other").exists()


def test_a_backup_over_http_has_no_name_once_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed while somebody fetches a copy leaves none."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with running(tmp_path / "store", PLAIN) as served:
        reply = served.get("/admin/backup", served.token("admin"))
        assert reply.body.startswith(b"SQLite format 3")
    assert list(temporary.iterdir()) == []


# Certificates


def serial(served: Running) -> int:
    """Return the number of the certificate that a new connection gets."""
    from cryptography import x509

    pem = ssl.get_server_certificate(("127.0.0.1", served.port))
    return x509.load_pem_x509_certificate(pem.encode()).serial_number


def test_a_renewed_certificate_is_used_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    write_certificate()
    address = Address(port=0, certificate=Path("cert.pem"), key=Path("key.pem"))
    settings = Settings(refresh_seconds=0.02)
    with running(tmp_path / "store", PLAIN, settings=settings, address=address) as served:
        first = serial(served)
        whole = Path("key.pem").read_bytes()
        Path("key.pem").write_bytes(b"no key")
        until(lambda: "cannot be used" in caplog.text)
        assert serial(served) == first
        Path("key.pem").write_bytes(whole)
        write_certificate()
        until(lambda: "was renewed" in caplog.text)
        until(lambda: serial(served) != first)


def until(holds: object) -> None:
    """Wait until something holds, for some seconds at most."""
    assert callable(holds)
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


# Logs


def logged(form: str) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JSONLines() if form == "json" else logs.TextLines())
    log = logging.Logger("murmurs.collect")
    log.addHandler(handler)
    try:
        raise OSError("no such disk")
    except OSError:
        log.exception("upkeep of %s failed", "é")
    return stream.getvalue()


def test_a_renewed_key_with_a_password_is_refused_without_asking_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    write_certificate()
    chain, key = Path("cert.pem"), Path("key.pem")
    found, context = Certificate(chain, key), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    asked = load_pem_private_key(key.read_bytes(), None)
    secret = BestAvailableEncryption(b"tea")
    key.write_bytes(asked.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret))
    assert not found.renew(context)
    assert "its key has a password" in caplog.text


def test_a_certificate_with_another_key_is_refused_with_both_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_certificate()
    Path("cert.pem").rename("old.pem")
    write_certificate()
    with pytest.raises(ValueError, match=r"in old\.pem cannot be used with the key in key\.pem"):
        Certificate(Path("old.pem"), Path("key.pem"))


def test_a_line_of_the_log_has_a_time() -> None:
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ERROR murmurs\.collect: upkeep of é failed\n"
    assert re.match(pattern, logged("text"))


def test_a_line_of_the_log_is_a_document_for_programs() -> None:
    (line,) = logged("json").splitlines()
    found = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found.pop("time"))
    assert "OSError: no such disk" in found.pop("traceback")
    assert found == {"level": "error", "logger": "murmurs.collect", "message": "upkeep of é failed"}


def test_a_collector_logs_in_the_form_that_is_asked_for(damaged: Path) -> None:
    line = [sys.executable, "-m", "murmurs", "serve", "--store", str(damaged), "--port", "0"]
    told = subprocess.run([*line, "--log", "json"], capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert "With --damaged the collector starts" in told.stderr
