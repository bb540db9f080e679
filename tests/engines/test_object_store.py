"""Files on an object store: a server of the tests' own, which speaks S3 on 127.0.0.1."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import requests
from moto.server import ThreadedMotoServer
from pyarrow.fs import S3FileSystem

from murmurs.engines import SourceError, local
from tests.engines.made import DRINK, ONE, drinks, of, plain, written


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a store, whose port is free."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    started = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    yield f"{host}:{port}"
    started.stop()


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")


@pytest.fixture
def store(server: str, credentials: None, tmp_path: Path) -> Any:
    """A bucket with days and questions."""
    found = S3FileSystem(
        endpoint_override=server, scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    found.create_dir("bucket")
    for day in (30, 31):
        path = written(tmp_path / f"{day}.parquet", {"drink": drinks(20, day)}, group=7)
        for folder in ("plain", f"days/day=2027-03-{day}", "odd %20 [1]"):
            with found.open_output_stream(f"bucket/{folder}/{day}.parquet") as file:
                file.write(path.read_bytes())
    return found


def address(server: str, path: str, who: str = "") -> str:
    options = f"endpoint_override={server}&scheme=http&region=us-east-1"
    return f"s3://{who}{path}?{options}"


BOTH = {(): {"drink": of(DRINK, np.concatenate([drinks(20, 30), drinks(20, 31)]))}}


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "path",
    [
        "bucket/plain",
        "bucket/plain/",
        "bucket/plain/3*.parquet",
        "bucket/pla*/3[01].parquet",
        "bucket/days/**/*.parquet",
        "bucket/odd %20 [1]",
    ],
)
def test_folders_and_patterns(server: str, path: str) -> None:
    assert plain(local.count(address(server, path), ONE)) == BOTH
    assert plain(local.count(address(server, path, "testing:testing@"), ONE)) == BOTH


def test_a_file_and_the_name_of_a_bad_row(server: str, store: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "bad.parquet", {"drink": [0, 9]})
    with store.open_output_stream("bucket/bad/bad.parquet") as file:
        file.write(path.read_bytes())
    with pytest.raises(SourceError, match=r"^s3://bucket/bad/bad\.parquet, row 2: the column"):
        local.count(address(server, "bucket/bad/bad.parquet", "testing:testing@"), ONE)


@pytest.mark.usefixtures("store")
def test_days_are_segments(server: str) -> None:
    assert plain(local.count(address(server, "bucket/days"), ONE, by="day")) == {
        (f"2027-03-{day}",): {"drink": of(DRINK, drinks(20, day))} for day in (30, 31)
    }


def test_ids_through_a_scratch_folder_of_the_store(server: str, store: Any) -> None:
    table = pa.table({"drink": drinks(20), "id": [i // 2 for i in range(20)]})
    counted = local.count(table, ONE, id="id", scratch=address(server, "bucket/scratch"))
    assert plain(counted) == {(): {"drink": of(DRINK, drinks(20)[::2])}}
    assert store.get_file_info("bucket/scratch/x").type.name == "NotFound"


def test_a_memory_of_files_of_a_store(server: str, store: Any, tmp_path: Path) -> None:
    for new in (40, 0):
        counted = local.count(address(server, "bucket/plain"), ONE, memory=tmp_path / "memory")
        assert (plain(counted), counted.new) == (BOTH, new)


def test_nothing_there_is_one_sentence(server: str, store: Any) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"There is no file or folder 's3://bucket/none'\.$"
    ):
        local.count(address(server, "bucket/none"), ONE)
    with pytest.raises(FileNotFoundError, match=r"There is no file or folder 's3://lost/none'\.$"):
        local.count(address(server, "lost/none"), ONE)
    with pytest.raises(FileNotFoundError, match=r"no file that matches 's3://lost/\*\.parquet'"):
        local.count(address(server, "lost/*.parquet"), ONE)


@pytest.fixture
def strict(server: str, store: Any) -> Iterator[None]:
    """The store lets nobody in: it knows no keys."""
    requests.post(f"http://{server}/moto-api/reset-auth", data="0", timeout=10)
    yield
    requests.post(f"http://{server}/moto-api/reset-auth", data="inf", timeout=10)


NO_ENTRY = (
    "cannot be read: the store refused the credentials, or there are none; set them as the store's "
    "own tools do, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
)
PATHS = pytest.mark.parametrize("path", ["bucket/plain", "bucket/plain/*.parquet"])


@PATHS
@pytest.mark.usefixtures("strict")
def test_refused_credentials_are_one_sentence(server: str, path: str) -> None:
    with pytest.raises(SourceError) as caught:
        local.count(address(server, path), ONE)
    assert str(caught.value) == f"s3://{path} {NO_ENTRY}"


class Closed(BaseHTTPRequestHandler):
    """A store that lets nobody in who sends no credentials, as S3 does."""

    def do_GET(self) -> None:
        assert "Authorization" not in self.headers
        data = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@PATHS
def test_missing_credentials_are_one_sentence(
    path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), Closed) as closed:
        threading.Thread(target=closed.serve_forever, daemon=True).start()
        with pytest.raises(SourceError) as caught:
            local.count(address(f"127.0.0.1:{closed.server_port}", path), ONE)
        closed.shutdown()
    assert str(caught.value) == f"s3://{path} {NO_ENTRY}"


@pytest.mark.usefixtures("credentials")
def test_an_endpoint_that_does_not_answer_is_one_sentence() -> None:
    with pytest.raises(SourceError) as caught:
        local.count(address("127.0.0.1:9", "bucket/plain", "name:secret@"), ONE)
    assert str(caught.value) == (
        "s3://bucket/plain cannot be reached: check the address, and that this computer may reach "
        "it"
    )


def test_what_is_no_address_is_one_sentence() -> None:
    with pytest.raises(
        SourceError, match=r"^gopher://x/y is not an address that can be read, such"
    ):
        local.count("gopher://x/y", ONE)
