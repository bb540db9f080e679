"""What must answer answers, whatever results and administration take."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from murmurs.collect.collector import Settings
from murmurs.collect.pools import SIZES, Kind
from murmurs.submission import SubmissionForm
from tests.collect.made import PLAIN
from tests.collect.running import Running, running

QUICK = Settings(refresh_seconds=0.05)


@contextlib.contextmanager
def occupied(served: Running) -> Iterator[None]:
    """Let every thread of results and administration wait, with more work behind it."""
    go_on = threading.Event()
    kinds: tuple[Kind, ...] = ("results", "administration")
    for kind in kinds:
        for _ in range(2 * SIZES[kind]):
            served.collector.pools._pools[kind].submit(go_on.wait, 20)
    try:
        yield
    finally:
        go_on.set()


def within(seconds: float, status: int, served: Running, path: str, token: str) -> bool:
    """Whether an address answers with this status, before so many seconds are over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if served.get(path, token).status == status:
            return True
    return False


def test_revocation_readiness_and_submissions_wait_for_nobody(tmp_path: Path) -> None:
    """With one pool for everything, a revoked token was accepted 75 seconds later."""
    with running(tmp_path, PLAIN, settings=QUICK) as served, occupied(served):
        admin, here, elsewhere = (served.token("admin") for _ in range(3))
        assert served.get("/ready").status == 200
        assert served.get("/metrics", admin).status == 200
        form = SubmissionForm(PLAIN)
        assert served.send(form.make({"hot": [1, 0]}), PLAIN).status == 200
        assert served.ask("DELETE", "/admin/tokens/admin%201", token=admin).status == 204
        assert served.get("/admin/tokens", here).status == 401  # at once
        served.store.revoke("admin 2")  # as `murmurs token revoke` does, in another process
        assert within(5, 401, served, "/admin/tokens", elsewhere)
        made = served.post("/admin/tokens", {"name": "new", "scope": "read"}, admin)
        assert made.status == 201
