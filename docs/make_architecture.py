"""Check what docs/architecture.md lists against the code, or with ``--write`` list it again.

``layers`` are those of the import contracts in pyproject.toml, ``folders`` the packages with the
first sentence of their docstrings and their files. A walk has the files that one call enters, in
that order: the call is run, and the functions that are entered are noted. Files that only check
input, and mathematics, are left out, and steps of an earlier walk are only named. All of it is
made in a new interpreter, so that nothing that ran before, such as a cache, changes it.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import http.server
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

import murmurs as mm
from murmurs.client import Client

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src" / "murmurs"
WIDTH = 118
SIZES = ("wire/shape.py", "channels/repeats.py", "present/layout.py")
"""Files that many others ask for a size or a factor in passing."""

LEFT_OUT = ("boundary/", "numerics/", "__init__.py", *SIZES)
"""Files that a walk does not show: checks of input, mathematics, what only loads others, sizes."""

_PLACE = re.compile(r"(<!-- made (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

LABELS = ["tea", "coffee", "water", "nothing"]


def sentence(text: str | None) -> str:
    """Return the first paragraph of a docstring as one line."""
    return (text or "").split("\n\n")[0].replace("\n", " ").replace("``", "`").strip()


def docstring(path: Path) -> str:
    """Return the first sentence of a module or package."""
    path = path / "__init__.py" if path.is_dir() else path
    return sentence(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))))


def contracts() -> list[dict[str, list[str]]]:
    """Return the contracts of pyproject.toml that have layers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    every = project["tool"]["importlinter"]["contracts"]
    return [contract for contract in every if contract["type"] == "layers"]


def layers() -> str:
    """Return the layers, the highest first; then those within a package, in one line each."""
    whole, *within = contracts()
    numbers = range(len(whole["layers"]), 0, -1)
    lines = [f"{i:>2}  {layer}" for i, layer in zip(numbers, whole["layers"], strict=True)]
    for contract in within:
        [container] = contract["containers"]
        lines += ["", f"in {container.removeprefix('murmurs.')}/"]
        lines += _indented(" > ".join(contract["layers"]))
    return "\n".join(["```text", *lines, "```"])


def folders() -> str:
    """Return every package with its sentence and, within murmurs, the names of its files.

    Files at the top are as large an idea as a package, and have their sentence too.
    """
    packages = sorted(path.parent for path in (ROOT / "src").rglob("__init__.py"))
    lines: list[str] = []
    for package in packages:
        lines.append(f"{package.relative_to(ROOT / 'src').as_posix()}/  {_meaning(package)}")
        files = sorted(p for p in package.glob("*.py") if p.stem != "__init__")
        if package == SOURCE:
            lines += [f"    {path.stem}  {_meaning(path)}" for path in files]
        elif package.is_relative_to(SOURCE):
            lines += _indented(" ".join(path.stem for path in files))
    return "\n".join(["```text", *lines, "```"])


def _meaning(path: Path) -> str:
    """Return the sentence of a package or file, without its name and what follows a semicolon."""
    said = docstring(path).split("; ")[0].rstrip(".")
    name, _, rest = said.partition(": ")
    word = name.lower().removeprefix("the ")
    if rest and word.isalpha() and word.startswith(path.stem):
        said = rest[0].upper() + rest[1:]
    return said


def _indented(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")


class Trace:
    """The functions of murmurs that a call enters, by file, in order."""

    def __init__(self) -> None:
        self.entered: dict[str, list[CodeType]] = {}
        self._loading = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call; what a module runs while it is loaded is none."""
        code = frame.f_code
        if code.co_name == "<module>":
            self._loading += {"call": 1, "return": -1}.get(event, 0)
        if event != "call" or self._loading or not code.co_filename.startswith(str(SOURCE)):
            return
        path = Path(code.co_filename).relative_to(SOURCE).as_posix()
        if path.startswith(LEFT_OUT) or path.endswith(LEFT_OUT) or "<" in code.co_qualname:
            return
        self.entered.setdefault(path, []).append(code)

    def steps(self) -> dict[str, str]:
        """Return the files with the first function in each that tells what happens there."""
        steps = {path: _step(path, codes) for path, codes in self.entered.items()}
        return {path: step for path, step in steps.items() if step is not None}


def _lines(steps: dict[str, str], before: set[tuple[str, str]]) -> list[str]:
    """Return the lines of a walk: each new step, and the files of steps that were there before."""
    wide = max(len(path) for path, step in steps.items() if (path, step) not in before) + 2
    lines: list[str] = []
    for known, group in groupby(steps.items(), key=lambda item: item in before):
        if known:
            names = "… " + " ".join(path for path, _ in group)
            lines += textwrap.wrap(names, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
            continue
        for path, step in group:
            first, later = f"{path:<{wide}}", " " * (wide + 2)
            told = _shortened(step, WIDTH - wide)
            lines += textwrap.wrap(told, WIDTH, initial_indent=first, subsequent_indent=later)
    return lines


def _shortened(step: str, size: int) -> str:
    """Return a step without its last parts after commas, if it is too long for a line with them."""
    parts = step.split(", ")
    fitting = [", ".join(parts[:i]) for i in range(len(parts), 0, -1)]
    return next((told for told in fitting if len(told) <= size), step)


def _step(path: str, codes: list[CodeType]) -> str | None:
    """Return a step of a walk: the first method or public function, and what it says it does.

    A file of which only properties are asked is no step.
    """
    named = _functions(SOURCE / path)
    for code in sorted(codes, key=lambda code: code.co_qualname.startswith("_")):
        found = named.get(code.co_firstlineno)
        if found:
            said = sentence(ast.get_docstring(found)) or docstring(SOURCE / path)
            said = said.split("; ")[0].removeprefix("Return ").rstrip(".")
            said = said[:1].lower() + said[1:] if said[1:2].islower() else said
            return f"{code.co_qualname}: {said}"
    return None


@cache
def _functions(path: Path) -> dict[int, ast.FunctionDef]:
    """Return the functions of a file by their first lines, without properties and such."""
    out = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name != "_" and node.name[:2] != "__":
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if not any("property" in text for text in decorators):
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                out[first] = node
    return out


def walked(prepare: Callable[[], Callable[[], object]]) -> dict[str, str]:
    """Return the steps of the call that ``prepare`` returns."""
    call = prepare()
    trace = Trace()
    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
    return trace.steps()


def one_answer() -> Callable[[], object]:
    """Randomise a label on a device, and pack the report."""
    question = mm.Question("drink", LABELS, epsilon=1.0)
    shape = question.mechanism.shape
    return lambda: shape.pack(question.encode("tea"))


def one_string() -> Callable[[], object]:
    """Randomise a string that nobody listed."""
    mechanism = mm.ORR(epsilon=2.0, width=8, cohorts=256)
    return lambda: mechanism.encode("Luna")


def one_estimate() -> Callable[[], object]:
    """Estimate shares from counts, and print them with their intervals."""
    mechanism = mm.KRR(k=4, epsilon=1.0)
    counts = mechanism.simulate([400, 300, 200, 100], np.random.default_rng(1))
    return lambda: str(mm.estimate(counts))


def one_list() -> Callable[[], object]:
    """Estimate the shares of listed strings from counts of hashed ones."""
    mechanism = mm.ORR(epsilon=2.0, width=8, cohorts=4)
    counts = mechanism.count(mechanism.encode_many(["Leo", "Luna"] * 500, np.random.default_rng(1)))
    return lambda: mm.estimate(counts.over(["Leo", "Luna"]))


def one_submission() -> Callable[[], object]:
    """Answer a survey as a device: check, randomise, seal, save and send."""
    survey = mm.Survey("drinks", (mm.Question("drink", LABELS, epsilon=1.0),))
    folder = tempfile.TemporaryDirectory()
    client = Client(survey, Path(folder.name) / "me.json", delay=0)

    def call() -> None:
        with folder, _collector() as address:
            client.answer({"drink": "tea"})
            client.send(address)

    return call


class _Accepts(http.server.BaseHTTPRequestHandler):
    """A collector that accepts every submission."""

    def do_GET(self) -> None:
        """Answer, with the time."""
        self._answer(b"{}")

    def do_POST(self) -> None:
        """Accept one submission."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b'{"accepted": 1, "duplicates": 0}')

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def _collector() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Accepts) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


WALKS = (one_answer, one_string, one_estimate, one_list, one_submission)


@cache
def walks() -> dict[str, str]:
    """Return all walks by their names, in the order of the page."""
    out: dict[str, str] = {}
    before: set[tuple[str, str]] = set()
    for walk in WALKS:
        steps = walked(walk)
        out[walk.__name__] = "\n".join(["```text", *_lines(steps, before), "```"])
        before.update(steps.items())
    return out


def made(name: str) -> str:
    """Return one listing of the page by its name there."""
    if name in ("layers", "folders"):
        return {"layers": layers, "folders": folders}[name]()
    return walks()[name]


def fill(text: str) -> str:
    """Return the page with its listings as the code is now."""
    return _PLACE.sub(lambda found: f"{found[1]}\n{made(found[2])}\n\n{found[3]}", text)


def difference() -> list[str]:
    """Return the lines in which the page differs from what a new interpreter makes of it."""
    command = [sys.executable, str(Path(__file__).resolve()), "--print"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=60)
    there = PAGE.read_text(encoding="utf-8").splitlines()
    return list(difflib.unified_diff(there, done.stdout.splitlines(), "page", "code", lineterm=""))


def main(argument: str) -> None:
    """Write the page, print it, or say how it differs from the code."""
    if argument == "--check":
        lines = difference()
        sys.exit("\n".join([*lines, f"run {Path(__file__).name} --write"]) if lines else 0)
    text = fill(PAGE.read_text(encoding="utf-8"))
    if argument == "--write":
        PAGE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main("".join(sys.argv[1:]) or "--check")
