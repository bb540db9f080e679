"""The files of the repository agree: version, authors, checks, and what is packed."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import murmurs

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_version_is_written_in_one_place() -> None:
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager

    assert PROJECT["project"]["dynamic"] == ["version"]
    made = ProjectMetadata(str(ROOT), PluginManager())
    assert made.version == murmurs.__version__
    assert "version" not in read("CITATION.cff")
    assert re.search(rf"^## {re.escape(murmurs.__version__)}\b", changelog(), re.MULTILINE)


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_says_what_the_project_says() -> None:
    project, citation = PROJECT["project"], read("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["title"] == project["name"]
    assert citation["abstract"] == project["description"]
    assert citation["license"] == project["license"]
    assert citation["keywords"] == project["keywords"]
    assert citation["authors"] == project["authors"]


def checks_of_script() -> list[str]:
    """The checks before the tests in script/test, as commands from the root."""
    text = (ROOT / "script" / "test").read_text(encoding="utf-8")
    found = re.findall(r"^run \$bin/((?:ruff|mypy|lint-imports).*)$", text, re.MULTILINE)
    assert len(found) == 4
    return [f".venv/bin/{command}" for command in found]


def test_the_hooks_before_a_commit_are_the_checks_of_the_script() -> None:
    [repository] = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert [hook["entry"] for hook in repository["hooks"]] == checks_of_script()
    for hook in repository["hooks"]:
        assert (hook["language"], hook["pass_filenames"]) == ("system", False)


def test_the_page_for_contributors_names_the_checks_of_the_script() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert " && ".join(checks_of_script()) in text


def test_the_workflow_runs_the_script_with_every_python_that_is_named() -> None:
    job = read(".github/workflows/test.yml")["jobs"]["test"]
    named = [
        text.rpartition(" :: ")[2]
        for text in PROJECT["project"]["classifiers"]
        if re.search(r":: Python :: 3\.\d+$", text)
    ]
    assert job["strategy"]["matrix"]["python"] == named
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
    assert "script/test" in [step.get("run") for step in job["steps"]]


def test_every_file_of_the_repository_is_packed() -> None:
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("this is no checkout")
    included = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    always = {"pyproject.toml", ".gitignore"}
    top = {name.split("/")[0] for name in done.stdout.splitlines()}
    assert top - always == included


NEEDED = {
    "HttpToolsProtocol": {
        "__init__",
        "connection_lost",
        "connection_made",
        "data_received",
        "on_body",
        "on_header",
        "on_headers_complete",
        "on_message_begin",
        "on_message_complete",
        "on_response_complete",
        "on_url",
        "pause_writing",
        "resume_writing",
        "send_400_response",
        "_unset_keepalive_if_required",
    },
    "RequestResponseCycle": {"__init__", "run_asgi", "send", "receive"},
}
"""Methods of a private module of uvicorn that collect/http/protocol.py overrides or calls."""

ATTRIBUTES = {
    "HttpToolsProtocol": {"connections", "cycle", "headers", "loop", "parser", "pipeline"}
    | {"client", "transport", "url"},
    "RequestResponseCycle": {"body", "disconnected", "message_event", "more_body"}
    | {"response_complete"},
}
"""Attributes that it reads or sets."""


@pytest.mark.parametrize("name", NEEDED)
def test_the_private_module_of_uvicorn_has_what_the_protocol_builds_on(name: str) -> None:
    """Fails when a new uvicorn changes it: then look at `Guarded` before raising the bound."""
    from uvicorn.protocols.http import httptools_impl

    assert httptools_impl.__file__ is not None
    tree = ast.parse(Path(httptools_impl.__file__).read_text(encoding="utf-8"))
    [kind] = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
    methods = {
        node.name for node in kind.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert methods >= NEEDED[name]
    own = {
        node.attr
        for node in ast.walk(kind)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"
    }
    assert own >= ATTRIBUTES[name]
    assert httptools_impl.STATUS_LINE[503].startswith(b"HTTP/1.1 503 ")


def test_uvicorn_is_bounded_by_the_next_version_that_nobody_has_tried() -> None:
    [bound] = re.findall(
        r"uvicorn>=[\d.]+,<0\.(\d+)", str(PROJECT["project"]["optional-dependencies"]["server"])
    )
    pinned = (ROOT / "requirements" / "server.txt").read_text(encoding="utf-8")
    [tried] = re.findall(r"^uvicorn==0\.(\d+)\.", pinned, re.MULTILINE)
    assert int(bound) == int(tried) + 1
