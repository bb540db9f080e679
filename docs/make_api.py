"""Make the reference of the public names, docs/api/, from their docstrings.

``python docs/make_api.py --write`` writes the pages; without it, stale pages are named and the
status is 1. A public name has one entry: at the top of murmurs, or else in its module.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import doctest
import importlib
import inspect
import itertools
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import murmurs

API = Path(__file__).parent / "api"

GROUPS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "asking": (
        "What is asked, and what devices report",
        ("Question", "Scale", "Joint", "Dictionary", "Survey", "Terms", "Device", "Devices"),
        ("survey",),
    ),
    "counting": (
        "Counts of reports, and files of both",
        (
            *("Counts", "pool", "read_counts", "write_counts", "read_reports", "write_reports"),
            *("PeopleError", "BadReportError"),
        ),
        ("files",),
    ),
    "engines": ("Counting on all cores, on Dask and on Spark", (), ("engines",)),
    "estimating": (
        "From counts to shares",
        (
            *("estimate", "Estimate", "NumberEstimate", "Statistic", "TicksEstimate"),
            *("JointEstimate", "discover", "Discovery"),
            *("NoiseDominates", "UnfitCountsError"),
        ),
        ("estimators",),
    ),
    "tests": (
        "Differences, trends and associations",
        (
            *("Detection", "Difference", "trend", "Trend"),
            *("association", "Association", "screening", "Screening", "cramers_v", "Strength"),
            *("conditional_shares", "lift", "odds_ratios", "Ratios"),
            *("compare_tables", "TableComparison"),
        ),
        (),
    ),
    "mechanisms": (
        "Mechanisms, designs and randomness",
        (
            *("Mechanism", "OpenMechanism", "SetMechanism", "CustomMechanism"),
            *("KRR", "Subset", "OUE", "SUE", "Hadamard", "ProjectiveGeometry", "LocalHashing"),
            "SquareWave",
            *("CountMeanSketch", "HadamardSketch", "BasicRappor", "LOSUE", "LOLOHA"),
            *("PermutedRR", "PermutedRappor", "ORR", "ORappor", "Rappor", "Prefixes", "Product"),
            *("PrivSet", "OneLabel"),
            *("Design", "warner", "forced_response", "unrelated_question", "crosswise"),
            *("triangular", "dice"),
            *("Randomness", "Secure", "Keyed", "Derived", "Seeded", "Given"),
        ),
        ("mechanisms",),
    ),
    "planning": (
        "Before anyone is asked",
        ("tune", "Tuning", "study", "ErrorStudy"),
        ("planning",),
    ),
    "collecting": (
        "Clients, submissions and stores",
        ("Client", "AnswerRefusedError", "NotSentError", "BadSubmissionError"),
        ("client", "submission", "collect"),
    ),
    "below": (
        "The level below: distributions, ε, hashes and bytes",
        (),
        ("channels", "privacy", "hashing", "wire"),
    ),
    "google-rappor": ("Files of google/rappor", (), ("rappor",)),
}
"""Pages: title, names at the top of murmurs, and modules."""

INTRODUCTION = """# Public names

Public are the names in `murmurs.__all__` and, for the modules among them, the names in the module's
own `__all__`. These pages have one entry for each, made from its docstring. Everything else is
private and may change at any time: other modules, and whatever begins with an underscore.
`dir(murmurs)` shows the public names only. A name is loaded when it is first used.

```pycon
>>> import murmurs as mm
>>> mm.Question("drink", ["tea", "mate"], epsilon=1.0).mechanism
KRR(k=2, epsilon=1.0)

```

These words in signatures are no names to import:

| type | is |
|---|---|
| `Asked` | a `Question`, a `Dictionary` or a `Joint`; `Single` is one of the first two |
| `AnyPath` | a text or a `pathlib.Path` |
| `Floats`, `Integers` | NumPy arrays of float64, of int64 |
| `Chance`, `ChanceInBulk` | a source such as `Seeded`, a NumPy generator, or None for `Secure` |
| `Target` | "population" or "respondents": whose shares are meant |
| `People` | "different" or "same": whether several counts are of the same people |
| `Control` | "bonferroni" or "fdr": which error is bounded |
| `Segment` | a tuple of texts, one for each column of segments |
| `Salvage` | a function that is called with the problem |
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A public name: how it is written, and what it is."""

    path: str
    name: str
    thing: Any
    home: ModuleType

    @property
    def anchor(self) -> str:
        """The anchor of its title; of mm.estimate and mm.Estimate the second has a number."""
        plain = re.sub(r"[^\w-]", "", self.path.lower())
        above = itertools.takewhile(lambda own: own is not self, _on_page(_page_of(self)))
        before = sum(own.path.lower() == self.path.lower() for own in above)
        return f"{plain}-{before}" if before else plain

    @cached_property
    def text(self) -> str:
        """Its docstring; for a value, the text below it in its module."""
        if inspect.isroutine(self.thing) or inspect.isclass(self.thing):
            return inspect.getdoc(self.thing) or ""
        if inspect.ismodule(self.thing):
            return str(inspect.getdoc(self.thing))
        return _text_below(self.home, self.name)

    @property
    def written_in(self) -> str:
        """The module that has its docstring."""
        return str(getattr(self.thing, "__module__", self.home.__name__))

    @property
    def sentence(self) -> str:
        """The first sentence of it."""
        first = " ".join(self.text.replace("``", "`").split("\n\n")[0].split())
        return re.split(r"(?<=[.:]) (?=[A-Z])", first)[0].rstrip(".:")


class Written:
    """An annotation, which is text in every module, or a default, shown as its source has it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def signature(name: str, thing: Any) -> str:
    """Return how something is called, in one line or with one parameter a line.

    >>> signature("f", lambda a, b=1: a)
    'f(a, b=1)'
    """
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    own = [
        one.replace(annotation=_annotated(one.annotation), default=_default(one.default))
        for one in found.parameters.values()
        if one.name not in ("self", "cls", "reading")
    ]
    if "reading" in found.parameters:  # the keywords of a TypedDict, with the defaults of this one
        read = inspect.signature(murmurs.files.read_column).parameters
        own += [
            read[name].replace(annotation=_annotated(read[name].annotation))
            for name in ("format", "delimiter", "header")
        ]
    returns = inspect.Signature.empty
    if not inspect.isclass(thing):
        returns = _annotated(found.return_annotation)
    told = f"{name}{inspect.Signature(own, return_annotation=returns)}"
    if len(told) <= 100:
        return told
    bare, _, after = str(inspect.Signature((), return_annotation=returns)).partition(")")
    lines: list[str] = []
    marked = False
    for one in own:
        if one.kind is one.KEYWORD_ONLY and not marked:
            marked = True
            lines.append("*")
        marked = marked or one.kind is one.VAR_POSITIONAL
        lines.append(str(one))
    return f"{name}{bare}\n" + "".join(f"    {line},\n" for line in lines) + f"){after}"


def _annotated(given: Any) -> Any:
    given = getattr(given, "__forward_arg__", given)  # as a NamedTuple has it
    return Written(given) if isinstance(given, str) else given


def _default(given: Any) -> Any:
    if given is inspect.Parameter.empty or isinstance(given, int | float | str | tuple | None):
        return given
    return Written(getattr(given, "__name__", repr(given)))


@cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def _text_below(module: ModuleType, name: str) -> str:
    """Return the text below a value, in the module or in the one that it is imported from."""
    body = _tree(str(module.__file__)).body
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.ImportFrom) and any(one.name == name for one in node.names):
            return _text_below(importlib.import_module(str(node.module)), name)
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return inspect.cleandoc(str(after.value.value))
            return ""
    return ""


def missing_names(source: str, known: set[str]) -> set[str]:
    """Return the names that a program uses and has not got; those it makes become known.

    >>> sorted(missing_names("a = [b(i) for i in range(3)]; a", set()))
    ['b']
    """
    found = list(ast.walk(ast.parse(source)))
    names = [node for node in found if isinstance(node, ast.Name)]
    known.update(node.id for node in names if isinstance(node.ctx, ast.Store))
    known.update(node.arg for node in found if isinstance(node, ast.arg))
    known.update(node.asname or node.name for node in found if isinstance(node, ast.alias))
    known.update(n.name for n in found if isinstance(n, ast.FunctionDef | ast.ClassDef))
    return {node.id for node in names} - known - set(vars(builtins))


def _imports(names: set[str], module: str) -> str:
    """Return the lines that import what an example in the docstrings of a module relies on."""
    public = {entry.name: entry.home.__name__ for entry in reversed(entries())}
    if sys.modules[module] in [entry.thing for entry in entries()]:
        public |= dict.fromkeys(sys.modules[module].__all__, module)
    tree = _tree(str(sys.modules[module].__file__))
    others, own = set(), dict[str, list[str]]()
    for name in sorted(names):
        if name in public:
            own.setdefault(public[name], []).append(name)
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                here = [one for one in node.names if name == (one.asname or one.name)]
                fields = {**vars(node), "names": here}
                others.update([ast.unparse(type(node)(**fields))] if here else [])
    lines = [*sorted(others), *(f"from {home} import {', '.join(own[home])}" for home in own)]
    return "".join(f">>> {line}\n" for line in lines)


def markdown(text: str, module: str = "") -> str:
    """Return a docstring as Markdown: names in backquotes, and examples in blocks.

    Examples begin with the imports that they find in their module, so that they can be pasted.

    >>> markdown("Return ``x``.")
    'Return `x`.'
    """
    parts = []
    known: set[str] = set()
    for part in text.replace("``", "`").split("\n\n"):
        if part.lstrip().startswith(">>>"):
            shown = textwrap.dedent(part).replace("'''", '"""')  # as pages have it
            examples = doctest.DocTestParser().get_examples(shown + "\n")
            names = missing_names("".join(one.source for one in examples), known)
            known |= names
            lines = _imports(names, module) if names else ""
            parts.append(f"```pycon\n{lines}{shown}\n```")
        elif part.startswith("    "):
            parts.append(f"```text\n{textwrap.dedent(part)}\n```")
        else:
            parts.append(part.removesuffix("::"))
    return "\n\n".join(parts)


@cache
def entries() -> tuple[Entry, ...]:
    """Return every public name once, those at the top first."""
    top = [
        Entry(f"mm.{name}", name, getattr(murmurs, name), murmurs)
        for name in murmurs.__all__
        if name not in murmurs._MODULES
    ]
    seen = {id(entry.thing) for entry in top}
    out = list(top)
    for module in murmurs._MODULES:
        home = getattr(murmurs, module)
        for name in home.__all__:
            thing = getattr(home, name)
            if id(thing) not in seen:
                out.append(Entry(f"mm.{module}.{name}", name, thing, home))
    return tuple(out)


@cache
def _shown() -> frozenset[type]:
    return frozenset(e.thing for e in entries() if inspect.isclass(e.thing))


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Return the public attributes of a class that no public class above it has."""
    above = [base for base in kind.__mro__[1:] if base in _shown()]
    seen = {name for base in above for name in dir(base)}
    for base in kind.__mro__:
        if not base.__module__.startswith("murmurs") or base in above:
            continue
        for name, thing in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            kinds = (property, cached_property, classmethod, staticmethod)
            if isinstance(thing, kinds) or inspect.isfunction(thing):
                yield name, thing


def _member(name: str, thing: Any) -> str:
    if isinstance(thing, property | cached_property):
        read = thing.fget if isinstance(thing, property) else thing.func
        told = f".{name}"
    else:
        read = getattr(thing, "__func__", thing)
        told = signature(f".{name}", read)
    return f"```py\n{told}\n```\n\n{markdown(inspect.getdoc(read) or '', str(read.__module__))}"


def entry(found: Entry) -> str:
    """Return the entry of a name."""
    parts = [f"## `{found.path}`"]
    callable_one = inspect.isroutine(found.thing) or inspect.isclass(found.thing)
    is_error = inspect.isclass(found.thing) and issubclass(found.thing, Exception)
    if callable_one and not is_error:
        parts.append(f"```py\n{signature(found.name, found.thing)}\n```")
    if inspect.isclass(found.thing):
        others = {e.thing: e for e in entries() if inspect.isclass(e.thing)}
        above = [others[base] for base in found.thing.__mro__[1:] if base in others]
        if above:
            links = ", ".join(f"[`{e.path}`]({_link(e)})" for e in above[:1])
            parts.append(f"A kind of {links}, with all that it has.")
    parts.append(markdown(found.text, found.written_in))
    if inspect.isclass(found.thing) and not is_error:
        parts += [_member(name, thing) for name, thing in members(found.thing)]
    if inspect.ismodule(found.thing):
        for name in found.thing.__all__:
            inner = Entry(f"{found.path}.{name}", name, getattr(found.thing, name), found.thing)
            parts.append(f"```py\n{signature(name, inner.thing)}\n```")
            parts.append(markdown(inner.text, inner.written_in))
    return "\n\n".join(part for part in parts if part)


def _page_of(found: Entry) -> str:
    module = found.home.__name__.removeprefix("murmurs").lstrip(".")
    for page, (_, names, modules) in GROUPS.items():
        if (not module and found.name in names) or module in modules:
            return page
    raise LookupError(f"{found.path} is on no page: add it to GROUPS")


def _link(found: Entry) -> str:
    return f"{_page_of(found)}.md#{found.anchor}"


@cache
def _on_page(page: str) -> tuple[Entry, ...]:
    """Return the entries of a page, in its order."""
    order = {f"mm.{name}": place for place, name in enumerate(GROUPS[page][1])}
    own = [entry for entry in entries() if _page_of(entry) == page]
    return tuple(sorted(own, key=lambda entry: order.get(entry.path, len(order))))


def pages() -> dict[str, str]:
    """Return the pages by name."""
    out = {}
    index = [INTRODUCTION]
    for page, (title, _, modules) in GROUPS.items():
        own = _on_page(page)
        lines = [f"- [`{e.path}`]({_link(e)}): {e.sentence}" for e in own]
        index.append(f"## [{title}]({page}.md)\n\n" + "\n".join(lines) + "\n")
        told = [f"# {title}", "[All public names](index.md)"]
        for module in modules:
            text = markdown(inspect.getdoc(getattr(murmurs, module)) or "")
            told.append(f"Module `murmurs.{module}`: {text[0].lower()}{text[1:]}")
        out[page] = "\n\n".join([*told, *map(entry, own)]) + "\n"
    out["index"] = "\n".join(index)
    return out


def stale() -> list[Path]:
    """Return the pages that are not as they would be written now, or should not be there."""
    made = {API / f"{name}.md": text for name, text in pages().items()}
    known = set(API.glob("*.md"))
    return sorted(
        path
        for path in known | set(made)
        if path not in known or path.read_text(encoding="utf-8") != made.get(path)
    )


def main() -> None:
    """Write the pages, or name those that are stale."""
    if "--write" in sys.argv[1:]:
        API.mkdir(exist_ok=True)
        for name, text in pages().items():
            (API / f"{name}.md").write_text(text, encoding="utf-8")
        return
    found = stale()
    for path in found:
        sys.stdout.write(f"{path} is stale: run python docs/make_api.py --write\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
