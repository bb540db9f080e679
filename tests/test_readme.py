"""What the README and the pages say is so: their commands run, their tables and links are true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.make_tables import DOCS, NAMES, fill, relative

from murmurs import BasicRappor
from murmurs.mechanisms import BY_NAME

README = DOCS.parent / "README.md"
PAGES = [README, DOCS.parent / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def write_files(text: str, folder: Path) -> list[str]:
    """Write the files that a page shows, each after its name and a colon; return the names."""
    found = re.findall(r"`([\w.]+)`:\n\n```(?:toml|text)\n(.*?)```", text, re.DOTALL)
    for name, content in found:
        (folder / name).write_text(content, encoding="utf-8")
    return [name for name, _ in found]


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder, with this environment's commands first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_shell_tour_of_the_readme_runs(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    assert write_files(text, tmp_path) == ["coffee.toml", "answers.txt"]
    [script] = [block for block in blocks(text, "sh") if "murmurs publish" in block]
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    table = done.stdout[done.stdout.index("95 % interval") :]
    for label in ("espresso", "filter", "tea", "nothing"):
        assert re.search(rf"^{label} +\d+\.\d %", table, re.MULTILINE), done.stdout
    assert (tmp_path / "reports.bin").stat().st_size > 10_000


def test_the_commands_of_the_cli_page_print_what_it_shows(tmp_path: Path) -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert write_files(text, tmp_path) == ["coffee.toml", "people.csv"]
    for block in blocks(text, "console"):
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            done = run(command, tmp_path)
            assert done.returncode == 0, f"{command}: {done.stderr}"
            assert done.stdout == shown, command


def test_the_table_of_mechanisms_in_the_readme_is_that_of_today() -> None:
    text = README.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`(\w+)`\]\(.*?\) \| .* \| (\d+) \| (\S+) \|$", text, re.MULTILINE)
    assert {name for name, _, _ in rows} == set(BY_NAME)
    assert len(rows) == len(BY_NAME)
    for name, size, error in rows:
        if name == "BasicRappor":
            assert (int(size), error) == (BasicRappor(128, f=0.5, p=0.5, q=0.75).shape.size, "–")
        else:
            mechanism = BY_NAME[name](k=128, epsilon=1.0)  # type: ignore[call-arg]
            assert int(size) == mechanism.shape.size, name
            assert error == f"×{relative(name, 128, 1.0):.2f}", name


def test_the_tables_in_the_pages_are_those_of_make_tables() -> None:
    tables: list[str] = []
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert fill(text) == text, f"{page} is stale: run python docs/make_tables.py --write"
        tables += re.findall(r"^<!-- table (\w+) -->\n\n.*?^<!-- end -->$", text, re.M | re.S)
    assert sorted(tables) == sorted([*NAMES, "best", "floors"])


def test_a_stale_table_is_noticed() -> None:
    text = (DOCS / "mechanisms" / "krr.md").read_text(encoding="utf-8")
    assert fill(text.replace("(×1.68)", "(×1.67)")) == text != text.replace("(×1.68)", "(×1.67)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        to = (page.parent / file).resolve() if file else page
        assert to.exists(), f"{page.name} links to {target}"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", to.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles]
            assert anchor in slugs, f"{page.name} links to {target}"
