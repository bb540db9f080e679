"""A real collector on a free port, in a thread, and a small client for it."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmurs.collect.http.collector import Collector, Settings
from murmurs.collect.http.limits import Limits
from murmurs.collect.http.server import Address, Server, in_thread
from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Store
from murmurs.collect.stores.writer import Writer
from murmurs.collect.tokens import Scope, new_token
from murmurs.submission import BINARY_TYPE, JSON_TYPE, Submission, SubmissionForm
from murmurs.survey.survey import Survey

DAY = 20_800
"""The day of these tests, counted from 1970-01-01."""


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    day: int = DAY

    def __call__(self) -> float:
        return self.day * 86_400 + 3_600.0


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.document["error"])


class Running:
    """A collector that runs, and what a test asks of it."""

    def __init__(self, collector: Collector, server: Server, port: int, clock: Clock) -> None:
        self.collector, self.server, self.port, self.clock = collector, server, port, clock
        self._relay: str | None = None

    @property
    def store(self) -> Store:
        return self.collector.store

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        token: str | None = None,
        **headers: str,
    ) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())

    def get(self, path: str, token: str | None = None, **headers: Any) -> Reply:
        return self.ask("GET", path, token=token, **headers)

    def post(self, path: str, document: Any, token: str | None = None) -> Reply:
        body = json.dumps(document).encode()
        return self.ask("POST", path, body, token=token, Content_Type=JSON_TYPE)

    def submit(
        self, body: bytes, media: str = JSON_TYPE, token: str | None = None, **headers: str
    ) -> Reply:
        return self.ask("POST", "/submissions", body, token=token, Content_Type=media, **headers)

    def send(self, submission: Submission, survey: Survey, *, binary: bool = False) -> Reply:
        """Send a submission; one of more people than devices may send, as a relay."""
        form, token = SubmissionForm(survey), None
        if submission.people > self.collector.limits.people >= Limits().people:
            token = self._relay = self._relay or self.token("submit")
        if binary:
            return self.submit(form.to_bytes(submission), BINARY_TYPE, token)
        return self.submit(form.to_json(submission), token=token)

    def token(self, scope: Scope, *surveys: str) -> str:
        """Make a token, and wait until it is known."""
        name = f"{scope} {len(self.store.tokens())}"
        text, token = new_token(name, scope, surveys)
        self.store.add_token(token)
        self.collector.catalogue.refresh(self.store)
        return text

    def count(self, name: str, **labels: str) -> int:
        return self.collector.metrics.total(name, **labels)


@contextlib.contextmanager
def running(
    place: str | Path,
    *surveys: Survey,
    settings: Settings | None = None,
    wrapped: Callable[[Store], Store] = lambda store: store,
    address: Address | None = None,
) -> Iterator[Running]:
    """Run a collector with these surveys until the end of the block."""
    clock = Clock()
    with contextlib.ExitStack() as stack:
        store = wrapped(open_store(str(place)))
        stack.callback(store.close)
        for survey in surveys:
            store.publish(survey, DAY)
        limits = Limits() if settings is None else settings.limits
        writer = Writer(store, day=lambda: clock.day, most_waiting=limits.waiting)
        stack.callback(writer.close)
        collector = Collector(store, writer, settings, clock)
        stack.callback(collector.close)
        address = address or Address(port=0)
        opened = address.listen()
        server = Server(collector, address)
        thread = in_thread(server, opened)
        stack.callback(thread.join)
        stack.callback(server.stop)
        yield Running(collector, server, opened.getsockname()[1], clock)
