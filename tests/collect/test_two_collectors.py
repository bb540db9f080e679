"""Two collectors on one PostgreSQL store count every submission once."""

from __future__ import annotations

import threading

from murmurs.collect.stores.store import Part
from murmurs.submission import SubmissionForm
from tests.collect.conftest import new_schema
from tests.collect.made import PLAIN, submission
from tests.collect.postgresql_server import Server
from tests.collect.running import Running, running


def test_submissions_that_reach_both_are_counted_once(server: Server) -> None:
    """Each is sent to both collectors, from two threads at once; duplicates are acknowledged."""
    place = new_schema(server)
    form = SubmissionForm(PLAIN)
    sent = [form.to_json(submission(PLAIN, seed)) for seed in range(60)]
    with running(place, PLAIN) as one, running(place, PLAIN) as other:
        accepted: list[int] = []

        def send(served: Running, bodies: list[bytes]) -> None:
            for start in range(0, len(bodies), 5):
                reply = served.submit(b"[" + b",".join(bodies[start : start + 5]) + b"]")
                assert reply.status == 200, reply.body
                accepted.append(reply.document["accepted"])

        threads = [
            threading.Thread(target=send, args=(one, sent)),
            threading.Thread(target=send, args=(other, sent[::-1])),
            threading.Thread(target=send, args=(other, sent[20:] + sent[:20])),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(accepted) == 60
        assert len(accepted) == 36
        part = Part(PLAIN.fingerprint, "hot")
        wanted = PLAIN.asked("hot").count(
            b"".join(submission(PLAIN, seed).reports["hot"] for seed in range(60))
        )
        assert one.store.counts(part) == other.store.counts(part) == wanted
        token = one.token("read")
        other.collector.catalogue.refresh(other.store)
        results = [served.get("/results/plain/hot", token).document for served in (one, other)]
        assert results[0] == results[1]
        assert results[0]["reports"] == 180
