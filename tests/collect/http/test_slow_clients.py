"""Clients that are slow, or too many, cannot hold the server: with real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from murmurs.collect.http.collector import Settings
from murmurs.collect.http.limits import Limits
from murmurs.collect.http.protocol import MOST_WAITING, RESERVE, Guarded
from murmurs.collect.http.server import Address
from murmurs.collect.http.waiting_connections import PATIENCE, WaitingConnections
from murmurs.collect.metrics import Metrics
from murmurs.submission import SubmissionForm
from murmurs.survey.survey import Survey
from tests.cli.test_serve import write_certificate
from tests.collect.made import PLAIN, submission
from tests.collect.running import Running, running

SHORT = Limits(
    connections=60,
    header_seconds=0.6,
    body_seconds=0.6,
    idle_seconds=0.6,
    write_seconds=0.6,
    head=2000,
)

HEAD = b"POST /submissions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, PLAIN, settings=Settings(SHORT)) as found:
        yield found


@contextlib.contextmanager
def connected(served: Running) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
        yield client


def seconds_until_closed(client: socket.socket, drip: bytes = b"") -> tuple[float, bytes]:
    """Send bytes now and then until the server ends the connection; return when, and its answer."""
    began, got = time.monotonic(), b""
    client.settimeout(0.05)
    while time.monotonic() - began < 8:
        try:
            if drip:
                client.sendall(drip)
            data = client.recv(4096)
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            break
        if not data:
            break
        got += data
    return time.monotonic() - began, got


@pytest.mark.parametrize(
    ("beginning", "least"),
    [(b"", 0.3), (b"\x16\x03\x01\x02\x00", 0.3), (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0.0)],
    ids=["nothing", "a part", "something else"],
)
def test_a_client_that_does_not_finish_the_beginning_of_tls_is_cut_off(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    beginning: bytes,
    least: float,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_certificate()
    address = Address(port=0, certificate=Path("cert.pem"), key=Path("key.pem"))
    with running(tmp_path / "store", PLAIN, settings=Settings(SHORT), address=address) as served:
        with connected(served) as client:
            client.sendall(beginning)
            seconds, got = seconds_until_closed(client)
        assert b"HTTP/1.1" not in got
        assert least <= seconds < 6
    assert caplog.text == ""


def test_a_client_that_does_not_answer_the_end_of_tls_keeps_no_server_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("murmurs.collect.http.server.GOODBYE", 0.3)
    write_certificate()
    address = Address(port=0, certificate=Path("cert.pem"), key=Path("key.pem"))
    with contextlib.ExitStack() as stack:
        with running(tmp_path / "store", PLAIN, address=address) as served:
            plain = stack.enter_context(connected(served))
            trusting = ssl.create_default_context(cafile="cert.pem")
            client = trusting.wrap_socket(plain, server_hostname="127.0.0.1")
            stack.enter_context(client)
            client.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 200")
            began = time.monotonic()
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("beginning", "drip"),
    [
        (b"", b""),
        (b"GET /hea", b""),
        (b"GET /health HTTP/1.1\r\nHost: a\r\n", b"X: y\r\n"),
        (b"GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /hea", b""),
    ],
    ids=["nothing", "half a line", "one header after another", "half a second request"],
)
def test_a_head_that_does_not_arrive_in_time_is_cut_off(
    served: Running, beginning: bytes, drip: bytes
) -> None:
    before = served.count("murmurs_cut_off_total")
    with connected(served) as client:
        client.sendall(beginning)
        seconds, _ = seconds_until_closed(client, drip)
    assert 0.3 < seconds < 6
    assert served.count("murmurs_cut_off_total") == before + 1


def test_a_body_that_does_not_arrive_in_time_is_refused(served: Running) -> None:
    with connected(served) as client:
        client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
        seconds, got = seconds_until_closed(client, b" ")
    assert got.startswith(b"HTTP/1.1 408"), got
    assert 0.3 < seconds < 6
    assert served.collector.memory.used == 0


def test_the_rest_of_a_refused_body_is_not_waited_for_long(served: Running) -> None:
    with connected(served) as client:
        client.sendall(
            b"POST /admin/surveys HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n"
        )
        seconds, got = seconds_until_closed(client, b" ")
    assert got.startswith(b"HTTP/1.1 401"), got
    assert seconds < 7


def test_an_idle_connection_is_closed(served: Running) -> None:
    with connected(served) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        seconds, got = seconds_until_closed(client)
    assert got.startswith(b"HTTP/1.1 200")
    assert 0.3 < seconds < 6


def test_a_client_that_does_not_read_its_answer_is_cut_off(tmp_path: Path) -> None:
    many = "\n".join(f'"{"x" * 2000}{i}",' for i in range(4000))
    survey = Survey.from_toml(
        f'name = "long"\n[[questions]]\nname = "q"\nlabels = [{many}]\nepsilon = 1.0\n'
    )
    with running(tmp_path, survey, settings=Settings(SHORT)) as served:
        before = served.count("murmurs_cut_off_total")
        with connected(served) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(b"GET /surveys/long HTTP/1.1\r\nHost: a\r\n\r\n" * 2)
            deadline = time.monotonic() + 8
            while served.count("murmurs_cut_off_total") == before and time.monotonic() < deadline:
                time.sleep(0.05)
        assert served.count("murmurs_cut_off_total") == before + 1


def test_a_head_that_is_too_long_is_refused(served: Running) -> None:
    with connected(served) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nX: ")
        time.sleep(0.05)
        client.sendall(b"y" * 2500)
        _, got = seconds_until_closed(client)
    assert got.startswith(b"HTTP/1.1 431"), got


@pytest.mark.parametrize(
    "later",
    [b"\r\n", b"tea", b"POST"],
    ids=["an empty line", "what follows an upgrade", "half a request"],
)
def test_a_connection_that_sent_something_after_its_answer_is_closed_too(
    served: Running, later: bytes
) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n" if later == b"tea" else b""
    with connected(served) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n" + upgrade + b"\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
        client.sendall(later)
        seconds, _ = seconds_until_closed(client)
    assert seconds < 6


def test_a_connection_that_sent_the_rest_of_a_refused_body_is_closed_too(served: Running) -> None:
    with connected(served) as client:
        client.sendall(b"POST /submissions HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 415")
        client.sendall(b"[1, 2, 3]")
        seconds, _ = seconds_until_closed(client)
    assert seconds < 6


@pytest.mark.parametrize("drip", [b"X: y\r\n" * 300, b"y" * 1500], ids=["many", "a long one"])
def test_fields_after_a_body_are_limited(served: Running, drip: bytes) -> None:
    """Otherwise a client could fill the memory with them, eleven times as fast as it sends."""
    with connected(served) as client:
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n[\r\n0\r\nZ: ")
        began = time.monotonic()
        _, got = seconds_until_closed(client, drip)
    assert got.startswith(b"HTTP/1.1 431"), got
    assert time.monotonic() - began < SHORT.body_seconds


def test_a_long_body_in_small_chunks_is_read(served: Running) -> None:
    """What is limited comes beside the body: chunks of a byte each are no reason to refuse."""
    body = b" " * 4000 + b"[]"
    with connected(served) as client:
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for byte in body:
            client.sendall(b"1\r\n%c\r\n" % byte)
        client.sendall(b"0\r\n\r\n")
        got = client.recv(4096)
    assert got.startswith(b"HTTP/1.1 400"), got
    assert b"no submission" in got


def test_requests_that_wait_for_the_first_are_limited(served: Running) -> None:
    """Otherwise a client could fill the memory with them, fifty times as fast as it sends."""
    one = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    with connected(served) as client:
        client.sendall(one * MOST_WAITING)
        got = b""
        while got.count(b'"alive"') < MOST_WAITING:
            got += client.recv(4096)
        client.sendall(one * 1000)
        _, got = seconds_until_closed(client)
    assert b"HTTP/1.1 503" in got, got
    assert b'"busy"' in got


@pytest.fixture
def held(served: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Requests for /ready are answered once the event is set."""
    go_on = threading.Event()
    monkeypatch.setattr(served.store, "check", go_on.wait)
    yield go_on
    go_on.set()


@pytest.mark.parametrize(("number", "is_refused"), [(6, False), (7, True)])
def test_bodies_that_wait_for_the_first_request_are_limited(number: int, is_refused: bool) -> None:
    """Otherwise a client could fill the memory with them, beside what bodies may take."""

    async def never(scope: object, receive: object, send: object) -> None:
        await asyncio.Event().wait()

    async def received(data: bytes) -> tuple[bytes, bool]:
        config = uvicorn.Config(never, ws="none", log_config=None)
        config.load()
        transport = mock.Mock(asyncio.Transport, is_closing=lambda: False)
        transport.get_extra_info.return_value = None
        protocol = Guarded(
            limits=Limits(),
            metrics=Metrics(),
            waiting=WaitingConnections(),
            config=config,
            server_state=ServerState(),
            app_state={},
        )
        protocol.connection_made(transport)
        protocol.data_received(data)
        assert len(protocol.pipeline) == (0 if is_refused else number)
        await asyncio.sleep(0)
        found = (
            b"".join(call.args[0] for call in transport.write.mock_calls),
            transport.close.called,
        )
        protocol.connection_lost(None)
        return found

    one = HEAD + b"Content-Length: 10000\r\n\r\n" + b" " * 10_000
    written, closed = asyncio.run(
        received(b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n" + one * number)
    )
    assert written.startswith(b"HTTP/1.1 503") == is_refused
    assert (b'"busy"' in written) == closed == is_refused


def test_a_connection_that_is_closed_while_requests_wait_does_not_fill_the_log(
    served: Running, held: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(served) as client:
        client.sendall(b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n" * (MOST_WAITING + 2))
        assert client.recv(4096).startswith(b"HTTP/1.1 503")
    held.set()
    assert served.get("/ready").status == 200
    time.sleep(0.1)
    assert caplog.text == ""


@pytest.mark.parametrize("bad", [b"tea\r\n\r\n", b"GET \xff HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02"])
def test_what_is_not_http_is_refused_as_json(served: Running, bad: bytes) -> None:
    with connected(served) as client:
        client.sendall(bad)
        _, got = seconds_until_closed(client)
    assert got.startswith(b"HTTP/1.1 400"), got
    assert b'{"error": "http"' in got


def test_a_crowd_of_slow_clients_does_not_keep_others_out(served: Running) -> None:
    """Fifty connections that never finish their heads; a good request takes a moment as before."""
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connected(served)) for _ in range(50)]
        for client in slow:
            client.sendall(HEAD)
        assert served.send(submission(PLAIN, 1), PLAIN).status == 200
        time.sleep(1.0)
        assert served.count("murmurs_cut_off_total") >= 50
        assert served.send(submission(PLAIN, 2), PLAIN).status == 200


def test_whoever_holds_a_place_without_a_request_makes_room_for_a_new_connection(
    served: Running,
) -> None:
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connected(served)) for _ in range(SHORT.connections)]
        time.sleep(0.1)
        assert served.send(submission(PLAIN, 1), PLAIN).status == 200
        assert seconds_until_closed(idle[0])[0] < 0.3
        idle[-1].sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        assert idle[-1].recv(100).startswith(b"HTTP/1.1 200")


def test_whoever_does_not_read_an_answer_makes_room_for_a_new_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("murmurs.collect.http.waiting_connections.PATIENCE", 0.3)
    many = "\n".join(f'"{"x" * 2000}{i}",' for i in range(1000))
    survey = Survey.from_toml(
        f'name = "long"\n[[questions]]\nname = "q"\nlabels = [{many}]\nepsilon = 1.0\n'
    )
    with (
        running(tmp_path, PLAIN, survey, settings=Settings(Limits(connections=4))) as served,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(4):
            client = stack.enter_context(connected(served))
            client.sendall(b"GET /surveys/long HTTP/1.1\r\nHost: a\r\n\r\n" * 10)
            client.recv(1)
        time.sleep(0.2)
        client.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.2)
        for _ in range(4):
            stack.enter_context(connected(served))
        assert served.get("/surveys").status == 200


def test_while_all_connections_are_served_only_looks_at_health_are_answered(
    served: Running, held: threading.Event
) -> None:
    """An orchestrator that gets no answer would restart a process that has much to do."""
    with contextlib.ExitStack() as stack:
        for _ in range(SHORT.connections):
            client = stack.enter_context(connected(served))
            client.sendall(b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.3)
        assert [served.get("/health").status for _ in range(3)] == [200] * 3
        reply = served.get("/surveys")
        assert (reply.status, reply.error, reply.headers["retry-after"]) == (503, "busy", "1")
        before = served.count("murmurs_refusals_total", reason="busy")
        for _ in range(20):  # each takes the place of the last, and none gets one of its own
            stack.enter_context(connected(served))
        assert served.get("/surveys").status == 503
        assert served.get("/health").status == 200
        for _ in range(RESERVE):
            client = stack.enter_context(connected(served))
            client.sendall(b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.1)
        with connected(served) as client:
            assert seconds_until_closed(client)[1].startswith(b"HTTP/1.1 503")
        assert served.count("murmurs_refusals_total", reason="busy") > before


class Place:
    """A connection that only knows whether it had to go."""

    has_gone = in_reserve = False

    def make_room(self) -> None:
        self.has_gone = True


def test_a_body_that_does_not_come_makes_room_after_a_while_and_a_request_never() -> None:
    now = 0.0
    waiting = WaitingConnections(lambda: now)
    idle, sending, young, asking = (Place() for _ in range(4))
    for place in (sending, idle, asking, young):
        waiting.waits(place)
    waiting.sends(sending)
    waiting.sends(asking)
    waiting.gone(asking)
    now = PATIENCE
    waiting.sends(young)
    assert waiting.make_room()
    assert [p.has_gone for p in (idle, sending, young, asking)] == [True, False, False, False]
    assert waiting.make_room()
    assert [p.has_gone for p in (sending, young, asking)] == [True, False, False]
    assert not waiting.make_room()
    assert not young.has_gone


# The head of a request


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b"Host: a\r\n", 200),
        (b"Host: [::1]:8080\r\n", 200),
        (b"Host:\r\n", 200),
        (b"", 400),
        (b"Host: a\r\nHost: a\r\n", 400),
        (b"Host: a\r\nhost: b\r\n", 400),
        (b"Host: a b\r\n", 400),
        (b"Host: a/b\r\n", 400),
        (b"Host: user@a\r\n", 400),
    ],
)
def test_a_request_has_exactly_one_valid_host(served: Running, fields: bytes, status: int) -> None:
    with connected(served) as client:
        client.sendall(b"GET /health HTTP/1.1\r\n" + fields + b"\r\n")
        got = client.recv(4096)
    assert got.startswith(b"HTTP/1.1 %d" % status), got
    assert (b'{"error": "http"' in got) == (status == 400)


def test_a_request_of_http_1_0_needs_no_host(served: Running) -> None:
    with connected(served) as client:
        client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("long", ["address", "field", "fields", "fields after the body"])
def test_a_head_that_arrives_at_once_may_not_be_longer_than_the_limit(
    served: Running, long: str
) -> None:
    """All of it in one piece, so that the head is complete when the server first looks at it."""
    x = b"x" * SHORT.head
    request = {
        "address": b"GET /" + x + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        "field": b"GET /health HTTP/1.1\r\nHost: a\r\nA: " + x + b"\r\n\r\n",
        "fields": b"GET /health HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 400 + b"\r\n",
        "fields after the body": HEAD
        + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"
        + b"A: b\r\n" * 400
        + b"\r\n",
    }[long]
    with connected(served) as client:
        client.sendall(request)
        _, got = seconds_until_closed(client)
    assert got.startswith(b"HTTP/1.1 431"), got
    assert b'"head"' in got


def test_fields_after_the_body_are_not_taken_for_fields_of_the_head(served: Running) -> None:
    body = SubmissionForm(PLAIN).to_json(submission(PLAIN, 77))
    with connected(served) as client:
        client.sendall(
            HEAD
            + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n" % (len(body), body)
            + b"Authorization: Bearer x\r\nContent-Type: text/plain\r\n\r\n"
        )
        assert client.recv(4096).startswith(b"HTTP/1.1 200")


# An offer of another protocol, as curl --http2 and Java's HttpClient make with every request

OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_a_body_is_read_although_the_client_offers_another_protocol(
    served: Running, chunked: bool, step: int
) -> None:
    number = 2 * step + chunked
    bodies = [SubmissionForm(PLAIN).to_json(submission(PLAIN, 900 + number + i)) for i in (0, 5000)]
    sent = b""
    for body in bodies:
        sent += HEAD + OFFER
        if chunked:
            sent += b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
            sent = sent % (len(body), body)
        else:
            sent += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    sent += b"GET /health HTTP/1.1\r\nHost: a\r\n" + OFFER + b"\r\n"
    sent += b"POST /submissions HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n" + OFFER + b"\r\n"
    with connected(served) as client:
        for start in range(0, len(sent), step):
            client.sendall(sent[start : start + step])
        got = b""
        while got.count(b"HTTP/1.1 ") < 4 or not got.endswith(b"}"):
            got += client.recv(4096)
    statuses = [part[:3] for part in got.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"200", b"200", b"415"], got
    assert got.count(b'"accepted":1') == 2


def test_an_offer_does_not_lift_the_limits_of_a_body(tmp_path: Path) -> None:
    limits = Limits(json=1000, body_seconds=0.4)
    with running(tmp_path, PLAIN, settings=Settings(limits)) as found:
        with connected(found) as client:
            client.sendall(HEAD + OFFER + b"Transfer-Encoding: chunked\r\n\r\n" + b"7d0\r\n")
            client.sendall(b" " * 2000)
            assert client.recv(4096).startswith(b"HTTP/1.1 413")
        with connected(found) as client:
            client.sendall(HEAD + OFFER + b"Content-Length: 100\r\n\r\n{")
            assert client.recv(4096).startswith(b"HTTP/1.1 408")


def test_what_is_used_of_uvicorn_is_there() -> None:
    """`Guarded` derives from a class that uvicorn does not promise to keep."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

    for name in ("connection_made", "connection_lost", "on_url", "on_header", "on_body"):
        assert callable(getattr(HttpToolsProtocol, name))
    for name in ("on_message_begin", "on_headers_complete", "on_message_complete"):
        assert callable(getattr(HttpToolsProtocol, name))
    for name in ("on_response_complete", "pause_writing", "_unset_keepalive_if_required"):
        assert callable(getattr(HttpToolsProtocol, name))
    made = HttpToolsProtocol.__init__.__code__.co_names
    cycle = RequestResponseCycle.__init__.__code__.co_names
    used = {"parser", "connections", "pipeline", "headers", "transport", "client", "cycle"}
    assert used <= set(made)
    assert {"response_complete", "disconnected", "message_event", "body", "more_body"} <= set(cycle)
