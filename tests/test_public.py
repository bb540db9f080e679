"""What is public: listed, loaded on use, documented, and all that the pages use."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from docs import make_api

import murmurs
from tests.pages import DOCS, README, blocks

MODULES = [importlib.import_module(f"murmurs.{name}") for name in murmurs._MODULES]
INNER = {"clients", "local", "dask", "spark"}
"""Public modules of a public module."""
PAGES = [README, *sorted(DOCS.rglob("*.md"))]


def declared() -> set[tuple[str, str]]:
    """Module and name of what a type checker sees in the package."""
    [block] = [
        node
        for node in ast.parse(Path(murmurs.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    ]
    return {
        (str(node.module), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_type_checkers_see_the_names_that_are_loaded_on_use() -> None:
    homes = {(home, name) for home, names in murmurs._HOMES.items() for name in names}
    assert declared() == homes | {("murmurs", name) for name in murmurs._MODULES}
    assert sorted(name for _, name in declared()) == sorted(murmurs.__all__)


def test_dir_shows_the_public_names_only() -> None:
    code = "import murmurs, murmurs.cli; print(*dir(murmurs))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert sorted(shown) == sorted([*murmurs.__all__, "__version__"])


def test_importing_murmurs_loads_none_of_its_modules_and_no_numpy() -> None:
    code = "import murmurs, sys; print(*(m for m in sys.modules if m[:5] in ('murmu', 'numpy')))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert found == ["murmurs"]


def test_a_misspelt_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no public name 'Questoin'") as caught:
        murmurs.Questoin  # type: ignore[attr-defined]  # noqa: B018
    assert caught.value.name == "Questoin"


@pytest.mark.parametrize("module", [murmurs, *MODULES], ids=lambda module: module.__name__)
def test_no_public_name_is_also_that_of_a_submodule(module: ModuleType) -> None:
    inside = {found.name for found in pkgutil.iter_modules(getattr(module, "__path__", []))}
    clashes = {name for name in module.__all__ if name in inside}
    assert clashes == (set(murmurs._MODULES) if module is murmurs else clashes & INNER)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_public_module_and_its_names_are_documented(module: ModuleType) -> None:
    assert module.__doc__
    for name in module.__all__:
        assert getattr(module, name).__doc__, name


def test_every_public_name_has_its_entry_in_the_reference() -> None:
    assert all(entry.text for entry in make_api.entries())
    assert make_api.stale() == [], "run python docs/make_api.py --write"


def test_examples_of_the_reference_import_what_they_use() -> None:
    for page, text in make_api.pages().items():
        known: set[str] = set()
        for line in re.findall(r"^## .*|(?s:```pycon\n.*?```)", text, re.MULTILINE):
            if line.startswith("## "):
                known = set()
                continue
            examples = doctest.DocTestParser().get_examples(line.removesuffix("```"))
            source = "".join(example.source for example in examples)
            assert make_api.missing_names(source, known) == set(), (page, source)


def test_the_types_that_the_reference_explains_are_in_signatures_and_not_public() -> None:
    rows = re.findall(r"^\| (`[A-Z].*?) \|", make_api.INTRODUCTION, re.MULTILINE)
    words = re.findall(r"`(\w+)`", " ".join(rows))
    told = " ".join(" ".join(blocks(text, "py")) for text in make_api.pages().values())
    assert len(words) > 10
    assert [word for word in words if not re.search(rf": .*\b{word}\b|-> {word}", told)] == []
    assert {entry.name for entry in make_api.entries()}.isdisjoint(words)


def programs(page: Path) -> Iterator[ast.AST]:
    """The Python on a page."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(text, "python"):
        yield ast.parse(block)
    for block in blocks(text, "pycon"):
        for example in doctest.DocTestParser().get_examples(block):
            yield ast.parse(example.source)


def dotted(node: ast.AST) -> str:
    """A chain of names such as ``mm.estimators.em``; empty if it is something else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{found}.{node.attr}" if (found := dotted(node.value)) else ""
    return ""


def reached(program: ast.AST) -> Iterator[tuple[str, str]]:
    """The names of murmurs that a program uses, each with the module that it takes it from."""
    for node in ast.walk(program):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in OWN:
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in OWN:
                    yield alias.name, ""
        elif isinstance(node, ast.Attribute):
            first, *rest = dotted(node).split(".")
            if first == "mm" and len(rest) == 1:
                yield "murmurs", rest[0]
            elif first == "mm" and len(rest) == 2 and rest[0] in murmurs._MODULES:
                yield f"murmurs.{rest[0]}", rest[1]


OWN = ("murmurs", "murmurs_papers")
PUBLIC = {
    module.__name__: {*module.__all__, ""}
    for module in (
        murmurs,
        *MODULES,
        murmurs.rappor.clients,
        *(murmurs.engines.local, murmurs.engines.dask, murmurs.engines.spark),
    )
}


def private(program: ast.AST) -> list[str]:
    """What a program uses and should not."""
    return [f"{home}.{name}" for home, name in reached(program) if name not in PUBLIC.get(home, ())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_pages_use_public_names_only(page: Path) -> None:
    assert [found for program in programs(page) for found in private(program)] == []


@pytest.mark.parametrize("page", sorted(make_api.pages()))
def test_the_reference_names_nothing_private(page: str) -> None:
    named = re.findall(r"`murmurs((?:\.\w+)+)`", make_api.pages()[page])
    homes = [("murmurs" + name).rpartition(".") for name in named if name != ".__all__"]
    assert [name for home, _, name in homes if name not in PUBLIC.get(home, ())] == []


@pytest.mark.parametrize(
    "text",
    [
        "from murmurs.numerics import walsh",
        "import murmurs.numerics.walsh",
        "import murmurs as mm; mm.cli",
        "mm.estimators.usable(counts)",
        "from murmurs_papers import leaderboard",
    ],
)
def test_the_search_for_private_names_finds_them(text: str) -> None:
    assert len(private(ast.parse(text))) == 1


def test_every_page_has_its_programs_read() -> None:
    shown = {page for page in PAGES if re.search("```(pycon|python)", page.read_text("utf-8"))}
    assert len(shown) > 30
    assert all(list(programs(page)) for page in shown)
