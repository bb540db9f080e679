"""``murmurs serve`` and ``murmurs token``: from the start of a collector to its end."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import ipaddress
import json
import shlex
import signal
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from murmurs.cli import main
from murmurs.cli.serve import _missing
from murmurs.collect.catalogue import Catalogue
from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Part
from murmurs.collect.tokens import new_token
from murmurs.submission import BINARY_TYPE, JSON_TYPE, SubmissionForm
from murmurs.survey.survey import Survey
from tests.cli.test_cli import example_of
from tests.collect.made import PLAIN, submission


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coffee.json").write_text(PLAIN.to_json())
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line))


def said(line: str) -> str:
    """Return the sentence with which a command refuses."""
    done = run(line)
    assert done.exit_code == 2, done.output
    return done.output


@contextlib.contextmanager
def served(line: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Run a collector as its own process; return it with what it said first."""
    command = [sys.executable, "-m", "murmurs", *shlex.split(line), "--port", "0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def ask(url: str, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    host = url.removeprefix("http://")
    with contextlib.closing(http.client.HTTPConnection(host, timeout=20)) as client:
        client.request(
            method, path, body or None, {k.replace("_", "-"): v for k, v in headers.items()}
        )
        reply = client.getresponse()
        return reply.status, reply.read()


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_collector_starts_collects_and_ends_in_order(desk: Path, sign: signal.Signals) -> None:
    example = example_of("serve")
    form = SubmissionForm(PLAIN)
    with served(example) as (process, told):
        file = desk / told["new_token_file"]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        token = file.read_text().strip()
        body = form.to_bytes(submission(PLAIN, 1))
        assert ask(told["url"], "POST", "/submissions", body, Content_Type=BINARY_TYPE)[0] == 200
        status, found = ask(
            told["url"], "GET", "/results/plain/hot", Authorization=f"Bearer {token}"
        )
        assert (status, json.loads(found)["reports"]) == (200, 3)

        assert "another collector is using collected" in said(example)
        listed = run("token list --store collected")
        assert listed.output == "first: admin, all surveys\n"
        made = run("token create dashboard --scope read --survey plain --store collected")
        assert made.output.startswith("murmurs_")

        process.send_signal(sign)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    with contextlib.closing(open_store("collected")) as store:
        assert store.counts(Part(PLAIN.fingerprint, "hot")).n == 3
    with served("serve --store collected") as (_, told):  # the survey is in the store
        assert told["new_token_file"] is None
        assert b"plain" in ask(told["url"], "GET", "/surveys")[1]


def test_start_fails_with_a_sentence(desk: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        reply = said(f"serve coffee.json --store collected --port {port}")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in reply
    assert not (desk / "collected").exists()
    with contextlib.closing(open_store("collected")) as store:
        store.publish(PLAIN, 20_000)
    document = PLAIN.to_document()
    document["questions"][0]["text"] = "Is it hot?"
    (desk / "changed.json").write_text(json.dumps(document))
    reply = said("serve changed.json --store collected --port 0")
    assert "survey 'plain' has changed, but is still version 1" in reply
    slashed = {**PLAIN.to_document(), "name": "a/b"}
    (desk / "slashed.json").write_text(json.dumps(slashed))
    assert "cannot be served" in said("serve slashed.json --store collected --port 0")
    (desk / "file").write_text("tea")
    assert "file" in said("serve coffee.json --store file --port 0")
    assert "go together" in said("serve coffee.json --store collected --certfile coffee.json")
    assert "above 0, as in people=10" in said("serve --store collected --limit people=0")
    assert "there is no limit 'person'" in said("serve --store collected --limit person=1")
    nowhere = "postgresql://127.0.0.1:1/x"
    assert "cannot reach the PostgreSQL database x" in said(f"serve --store {nowhere} --port 0")


def test_tokens_on_the_command_line(desk: Path) -> None:
    assert "there is no store" in said("token list --store nowhere")
    with contextlib.closing(open_store("collected")):
        pass
    assert run("token create a --scope read --store collected").exit_code == 0
    assert "there is a token called 'a'" in said("token create a --scope read --store collected")
    made = json.loads(
        run("token create b --scope submit --survey x --store collected --json").stdout
    )
    assert (made["surveys"], made["token"][:8]) == (["x"], "murmurs_")
    rows = json.loads(run("token list --store collected --json").output)["tokens"]
    assert [row["name"] for row in rows] == ["a", "b"]
    assert run("token revoke a --store collected").output == "revoked a\n"
    assert json.loads(run("token revoke b --store collected --json").output) == {"revoked": "b"}
    assert "there is no token 'a'" in said("token revoke a --store collected")


def test_a_token_for_a_survey_that_is_not_there_says_so(desk: Path) -> None:
    with contextlib.closing(open_store("collected")) as store:
        early = run("token create early --scope submit --survey plian --store collected")
        store.publish(PLAIN, 1)
    assert (early.exit_code, early.stdout[:8]) == (0, "murmurs_")
    assert "the store has no survey 'plian', it has none." in " ".join(early.stderr.split())
    typo = run("token create typo --scope submit --survey plian --store collected --json")
    assert json.loads(typo.stdout)["surveys"] == ["plian"]
    told = " ".join(typo.stderr.split())
    assert "no survey 'plian', it has 'plain': did you mean 'plain'?" in told
    good = run("token create good --scope submit --survey plain --store collected")
    assert (good.exit_code, good.stderr) == (0, "")


def write_certificate() -> None:
    """Write a certificate for 127.0.0.1 to cert.pem, and its key to key.pem."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(1))
        .not_valid_after(now + datetime.timedelta(1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    Path("cert.pem").write_bytes(made.public_bytes(Encoding.PEM))
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    Path("key.pem").write_bytes(plain)


def test_limits_of_the_command_line_are_those_of_the_collector(desk: Path) -> None:
    form = SubmissionForm(PLAIN)
    with served("serve coffee.json --store collected --limit people=2 --limit json=1KiB") as (
        _,
        told,
    ):
        for people, status in ((2, 200), (3, 413)):
            body = form.to_json(submission(PLAIN, people, people=people))
            sent = ask(told["url"], "POST", "/submissions", body, Content_Type="application/json")
            assert sent[0] == status
        long = ask(told["url"], "POST", "/submissions", b" " * 1025, Content_Type=JSON_TYPE)
        assert json.loads(long[1])["error"] == "size"


def test_the_collector_speaks_tls(desk: Path) -> None:
    write_certificate()
    context = ssl.create_default_context(cafile="cert.pem")
    line = "serve coffee.json --store collected --certfile cert.pem --keyfile key.pem"
    with served(line) as (_, told):
        host = told["url"].removeprefix("https://")
        client = http.client.HTTPSConnection(host, context=context, timeout=20)
        with contextlib.closing(client):
            client.request("GET", "/health")
            assert client.getresponse().status == 200


def test_surveys_in_the_store_keep_their_state(desk: Path) -> None:
    other = Survey.from_json(json.dumps({**PLAIN.to_document(), "version": 2}))
    (desk / "other.json").write_text(other.to_json())
    with served("serve coffee.json --store collected"):
        pass
    with contextlib.closing(open_store("collected")) as store:
        store.set_state(PLAIN.fingerprint, "closed")
    with served("serve coffee.json other.json --store collected") as (_, told):
        surveys = json.loads(ask(told["url"], "GET", "/surveys")[1])["surveys"]
    assert [survey["version"] for survey in surveys] == [2]


def test_a_collector_says_what_its_store_still_needs(
    desk: Path,
) -> None:
    catalogue = Catalogue()
    survey, token = _missing(catalogue, "postgresql://ann@db/x?sslmode=require")
    assert survey.startswith("there is no survey yet: give one to murmurs serve")
    assert token.endswith("--scope admin --store 'postgresql://ann@db/x?sslmode=require'")
    with contextlib.closing(open_store("collected")) as store:
        store.publish(PLAIN, 1)
        store.add_token(new_token("first", "admin")[1])
        catalogue.refresh(store)
    assert _missing(catalogue, "collected") == []
