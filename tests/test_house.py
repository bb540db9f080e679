"""What holds for the whole house: it opens quickly, and chance is handed in everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import murmurs

SOURCE = Path(murmurs.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


def python(*arguments: str) -> str:
    """Run a new interpreter; return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


@pytest.mark.parametrize("name", ["numba", "scipy", "cryptography", "click"])
def test_importing_murmurs_does_not_import(name: str) -> None:
    code = f"from murmurs import *; import sys; print({name!r} in sys.modules)"
    assert python("-c", code).strip() == "False"


def test_one_report_needs_no_compiled_code() -> None:
    code = (
        "import murmurs as mm, sys; mm.KRR(k=4, epsilon=1.0).encode(2, mm.Secure());"
        "print(any(m.split('.')[0] in ('numba', 'cryptography') for m in sys.modules))"
    )
    assert python("-c", code).strip() == "False"


HIDDEN = {
    r"\bnp\.random\.seed\b": set[str](),
    r"\brandom\.random\(": set[str](),
    r"\bimport random\b|\bfrom random\b": set[str](),
    r"\bdefault_rng\(\)": {
        "mechanisms/mechanism.py"
    },  # the system generator, for simulate() without a seed
}
"""Patterns of hidden chance, and the files that may have them."""


def files_with(pattern: str) -> set[str]:
    return {
        path.relative_to(SOURCE).as_posix()
        for path in FILES
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }


@pytest.mark.parametrize("pattern", HIDDEN)
def test_chance_is_handed_in(pattern: str) -> None:
    assert files_with(pattern) == HIDDEN[pattern]


def test_the_search_for_hidden_chance_finds_what_is_there() -> None:
    assert len(FILES) > 30
    assert "randomness/secure.py" in files_with(r"\bos\.urandom\(")


def test_the_version_is_told_by_the_command_and_by_the_package() -> None:
    assert python("-m", "murmurs", "--version").strip().endswith(murmurs.__version__)


def test_every_public_name_is_there_and_documented() -> None:
    for name in murmurs.__all__:
        assert getattr(murmurs, name).__doc__, name
