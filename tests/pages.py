"""The README and the pages as tests read them: their blocks, files and commands."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from murmurs.cli import main

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(DOCS.rglob("*.md")),
]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def section(text: str, title: str) -> str:
    """What stands under a title, up to the next one."""
    [found] = re.findall(rf"^## {title}$(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    return str(found)


def write_files(text: str, folder: Path) -> list[str]:
    """Write the files that a page shows, each after its name and a colon; return the names."""
    found = re.findall(r"`([\w.]+)`:\n\n```(?:toml|text)\n(.*?)```", text, re.DOTALL)
    for name, content in found:
        (folder / name).write_text(content, encoding="utf-8")
    return [name for name, _ in found]


def commands(text: str) -> list[tuple[str, str]]:
    """What a page types after a dollar sign, each with what it shows as printed."""
    return [
        pair
        for block in blocks(text, "console")
        for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


def run(script: str, folder: Path, given: str = "") -> str:
    """Run a script in a folder, with this environment's commands first; return what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONUTF8": "1"},
        input=given,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{script}: {done.stderr}"
    return done.stdout


_HERE = re.compile(
    r"(?:(?P<before>[^|<>&]+) \| )?"
    r"murmurs (?P<arguments>[^|<>&;$`*?]+?)(?P<errors> 2>&1)?"
    r"(?: \| (?P<after>[^|<>&]+))?"
)
"""A command of murmurs, perhaps fed by one of the shell's, and perhaps read by another."""


def type_in(command: str, folder: Path) -> str:
    """Type a command into a shell in a folder; return what it prints.

    If it has only one of murmurs, that runs in this process, which is much quicker. As in a shell
    its failure is one of the whole command only if it comes last.
    """
    found = _HERE.fullmatch(command)
    if not found:
        return run(command, folder)
    given = run(found["before"], folder) if found["before"] else ""
    with contextlib.chdir(folder):
        arguments = shlex.split(found["arguments"])
        result = CliRunner().invoke(main, arguments, input=given, catch_exceptions=False)
    printed = result.output if found["errors"] else result.stdout
    if found["after"]:
        return run(found["after"], folder, printed)
    assert result.exit_code == 0, f"{command}: {result.stderr}"
    return printed
