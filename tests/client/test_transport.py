"""The default transport, against a real server on this machine."""

from __future__ import annotations

import contextlib
import http.server
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from murmurs import Survey
from murmurs.client import HTTP, Client, NotSentError
from tests.client.collectors import Clock, Collector
from tests.surveys import HOT, coffee

SURVEY = Survey.from_toml(coffee(HOT))
Seen = list[tuple[str, dict[str, str], bytes]]


@contextlib.contextmanager
def server(answer: Any, asked: Seen | None = None) -> Iterator[tuple[str, Seen]]:
    """A server that answers each request with (status, headers, body), and tells its time."""
    seen: Seen = []
    questions: Seen = [] if asked is None else asked

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, dict(self.headers), body))
            status, headers, data = answer(body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            questions.append((self.path, dict(self.headers), b""))
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_address[1]}", seen
        finally:
            found.shutdown()
            thread.join()


def test_submissions_arrive_over_http_with_the_same_few_fields_every_time() -> None:
    collector = Collector(SURVEY)

    def answer(body: bytes) -> Any:
        reply = collector(body)
        return reply.status, {"Set-Cookie": "device=7"}, reply.body

    with server(answer) as (address, seen):
        for label in ("yes", "no"):
            device = Client(SURVEY, {}, delay=0)
            device.answer({"hot": label})
            assert device.send(address + "/").taken == 1
    assert len(collector.counted) == 2
    (path, first, _), (_, second, _) = seen
    assert path == "/submissions"
    assert first == second
    assert first == {
        "Accept-Encoding": "identity",
        "Content-Type": "application/vnd.murmurs.submission",
        "Content-Length": "64",
        "Host": address.removeprefix("http://"),
        "User-Agent": "murmurs",
        "Connection": "close",
    }


def test_the_time_is_asked_for_once_with_the_same_few_fields_and_without_a_key() -> None:
    collector, clock, asked = Collector(SURVEY), Clock(time.time()), list[Any]()

    def answer(body: bytes) -> Any:
        reply = collector(body)
        return reply.status, {}, reply.body

    with server(answer, asked) as (address, seen):
        transport = HTTP(address, key="k3y")
        before = int(time.time())
        told = transport.time()
        assert told is not None
        assert before <= told <= time.time()
        device = Client(SURVEY, {}, delay=0, clock=clock)
        for _ in range(3):  # the time that is told with each answer is enough for ten days
            device.answer({"hot": "yes"})
            assert device.send(transport).taken == 1
            clock.next_day(2)
        assert (len(asked), len(seen)) == (2, 3)
        clock.next_day(30)
        device.answer({"hot": "yes"})
        assert device.send(transport).taken == 1
        assert (len(asked), len(seen)) == (3, 4)
    assert asked[0] == asked[1] == asked[2]
    assert asked[0][:2] == (
        "/health",
        {
            "Accept-Encoding": "identity",
            "Host": address.removeprefix("http://"),
            "User-Agent": "murmurs",
            "Cache-Control": "no-cache",
            "Connection": "close",
        },
    )


def test_a_collector_on_this_machine_is_reached_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with server(lambda _: (200, {}, b"{}")) as (address, _):
        assert HTTP(address)(b"body").status == 200


def test_a_key_is_sent_with_the_request() -> None:
    with server(lambda _: (200, {}, b"{}")) as (address, seen):
        HTTP(address, key="k3y")(b"body")
    assert seen[0][1]["Authorization"] == "Bearer k3y"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    with server(lambda _: (200, {}, b"")) as (other, stolen):
        elsewhere = {"Location": f"{other}/submissions"}
        with server(lambda _: (status, elsewhere, b"")) as (address, seen):
            device = Client(SURVEY, {}, delay=0)
            device.answer({"hot": "yes"})
            sent = device.send(address)
    assert sent.problem == f"the collector answers {status}"
    assert (sent.waiting, len(seen), len(stolen)) == (1, 1, 0)


def test_a_collector_that_asks_to_wait_is_not_asked_again_before() -> None:
    clock = Clock()
    with server(lambda _: (429, {"Retry-After": "5000"}, b"")) as (address, seen):
        device = Client(SURVEY, {}, delay=0, clock=clock)
        device.answer({"hot": "yes"})
        assert device.send(address).next_send_after == clock.now + 5000
        clock.now += 4999
        device.send(address)
        assert len(seen) == 1


def test_no_collector_is_a_problem_and_no_error() -> None:
    with server(lambda _: (200, {}, b"")) as (address, _):
        pass
    device = Client(SURVEY, {}, delay=0)
    device.answer({"hot": "yes"})
    sent = device.send(address)
    assert sent.problem is not None
    assert sent.problem.startswith("the collector cannot be reached: ")
    assert sent.waiting == 1


def test_a_collector_that_is_not_there_has_got_nothing() -> None:
    with server(lambda _: (200, {}, b"")) as (address, _):
        pass
    with pytest.raises(NotSentError):
        HTTP(address)(b"body")


def test_a_collector_that_hangs_up_may_have_got_everything() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            connection, _ = listening.accept()
            with connection:
                while b"body" not in connection.recv(2**16):
                    pass

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        with pytest.raises(OSError, match="not HTTP") as told:
            HTTP(f"http://127.0.0.1:{listening.getsockname()[1]}")(b"body")
        thread.join()
    assert not isinstance(told.value, NotSentError)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"220 mail.example.org ESMTP\r\n\r\n", "is not HTTP: BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ncut", "not HTTP: Incomplete"),
        (
            b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ncut",
            "not HTTP: Incomplete",
        ),
        (b"HTTP/1.1 307 Moved\r\nLocation: http://[\r\n\r\n", "the collector answers 307"),
    ],
)
def test_an_answer_that_is_not_http_is_a_problem_and_no_error(answer: bytes, problem: str) -> None:
    device = Client(SURVEY, {}, delay=0)
    body = device.form.to_bytes(device.answer({"hot": "yes"}))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def babble() -> None:
            connection, _ = listener.accept()
            with connection:
                heard = b""
                while not heard.endswith(body):
                    heard += connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=babble, daemon=True)
        thread.start()
        transport = HTTP(f"http://127.0.0.1:{listener.getsockname()[1]}")
        sent = device.send(transport.__call__)  # without a question for the time before
        thread.join()
    assert (sent.waiting, sent.taken) == (1, 0)
    assert problem in str(sent.problem)
    assert sent.next_send_after is not None


@pytest.mark.parametrize(
    "address", ["ftp://collect.example.org", "collect.example.org", "https://", "", "file:///etc"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"is like https://collect\.example\.org, not "):
        HTTP(address)


def test_plain_http_is_for_this_machine_or_on_request() -> None:
    for address in ("http://collect.example.org", "http://192.0.2.1", "http://127.0.0.1.example"):
        with pytest.raises(ValueError, match="is not encrypted: anyone on the way could see"):
            HTTP(address)
        HTTP(address, plain=True)
    for address in ("http://localhost:8000", "http://127.0.0.1", "http://[::1]:8000"):
        HTTP(address)


def test_certificates_are_verified() -> None:
    """The context of every request asks for a certificate and for the name of the host."""
    opener: Any = HTTP("https://collect.example.org")._opener
    [handler] = [h for h in opener.handlers if type(h).__name__ == "HTTPSHandler"]
    assert handler._context.verify_mode == ssl.CERT_REQUIRED
    assert handler._context.check_hostname
