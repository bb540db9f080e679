"""Print the tables that the pages hold, or with ``--write`` put them into the pages.

A page says where a table goes by a comment, and the table is all up to the next one::

    <!-- table KRR -->
    ...
    <!-- end -->

``KRR`` and the like are tables of error: of a single share, root mean square over uniform answers
of N people, unbiased estimate, default parameters. ``best`` has the best mechanism's. ``floors``
are the layers of pyproject.toml, each module with the first sentence of its docstring.
"""

from __future__ import annotations

import ast
import math
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

from murmurs.mechanisms import BY_NAME

DOCS = Path(__file__).parent
N = 10_000
SIZES = (4, 16, 128, 1024)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
NAMES = tuple(name for name in BY_NAME if name != "BasicRappor")  # it has f, p, q for an epsilon

_PLACE = re.compile(r"(<!-- table (\w+) -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)


@cache
def error(name: str, k: int, epsilon: float) -> float:
    """Return the root mean square error of a share."""
    mechanism = BY_NAME[name](k=k, epsilon=epsilon)  # type: ignore[call-arg]
    return math.sqrt(mechanism.channel.expected_l2(N) / k)


def best(k: int, epsilon: float) -> str:
    """Return the mechanism with the smallest error; of equal ones the first that is listed."""
    return min(NAMES, key=lambda name: round(error(name, k, epsilon), 12))


def relative(name: str, k: int, epsilon: float) -> float:
    """Return the error as a multiple of that of the best mechanism."""
    return error(name, k, epsilon) / error(best(k, epsilon), k, epsilon)


def table(name: str) -> str:
    """Return a table by its name in the pages."""
    if name == "floors":
        return floors()
    lines = [
        "| k | " + " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS) + " |",
        "|---:|" + "---:|" * len(EPSILONS),
    ]
    for k in SIZES:
        cells = [_cell(name, k, epsilon) for epsilon in EPSILONS]
        lines.append(f"| {k} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(name: str, k: int, epsilon: float) -> str:
    if name == "best":
        first = best(k, epsilon)
        return f"{first} {100 * error(first, k, epsilon):.2f} %"
    return f"{100 * error(name, k, epsilon):.2f} % (×{relative(name, k, epsilon):.2f})"


def floors() -> str:
    """Return the modules of the house, the highest floor first."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    lines = []
    for number, layer in zip(range(len(layers), 0, -1), layers, strict=True):
        for i, module in enumerate(layer.split(" | ")):
            lines.append(f"{'' if i else number:>2}  {module:<12}  {_sentence(module)}")
    return "\n".join(["```text", *lines, "```"])


def _sentence(module: str) -> str:
    path = DOCS.parent / "src" / "murmurs" / module
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def fill(text: str) -> str:
    """Return a page with its tables as they are today."""
    return _PLACE.sub(lambda found: found[1] + table(found[2]) + found[3], text)


def main() -> None:
    """Print every table, or write the pages."""
    if "--write" in sys.argv[1:]:
        for page in sorted(DOCS.rglob("*.md")):
            page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    for name in ("floors", "best", *NAMES):
        sys.stdout.write(f"{name}\n\n{table(name)}\n\n")


if __name__ == "__main__":
    main()
