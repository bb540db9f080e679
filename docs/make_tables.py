"""Print the tables of the pages, or with ``--write`` put them into the pages.

A page says where a table goes by a comment, and the table is all up to the next one::

    <!-- table errors -->
    ...
    <!-- end -->

``errors`` has the mechanisms' errors: of a single share, root mean square over uniform answers of
N people, unbiased estimate, default parameters.
``estimators`` has the l1 errors of all estimators on three laws, simulated; ``accuracy`` the last
rows of what benchmarks/accuracy.py wrote; ``memories``
what each memory of a device promises, and its price; those of `http_tables` what
the collector declares; ``peers`` in the README what the pages of results measured.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docs import http_tables, peers_table

from murmurs import KRR, Subset, estimators
from murmurs.devices.device import MEMORIES
from murmurs.mechanisms import BY_NAME
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.numerics.arrays import Floats, Integers

DOCS = Path(__file__).parent
N = 10_000
SIZES = (4, 16, 128, 1024)
EPSILONS = (1.0, 4.0)
NAMES = tuple(name for name, kind in BY_NAME.items() if not issubclass(kind, Longitudinal))
"""Those that k and epsilon describe."""

ANSWERS, PEOPLE, TIMES = 64, 20_000, 20
LAWS = {
    "flat": np.ones(ANSWERS),
    "Zipf 1.3": np.arange(1, ANSWERS + 1) ** -1.3,
    "point-like": np.array([0.99] + [0.01 / (ANSWERS - 1)] * (ANSWERS - 1)),
}
SAME = ("em", "regression")
"""Those that compute in another way what `likelihood` and `simplex` do, with these mechanisms."""
NOT_FOR_ITS_ANSWERS = ("selection", "joint", "independence", "smooth", "ems")
COMPARED = (KRR(ANSWERS, 1.0), Subset(ANSWERS, 1.0))

_PLACE = re.compile(r"(<!-- table (\w+) -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)


@cache
def error(name: str, k: int, epsilon: float) -> float:
    """Return the root mean square error of a share."""
    mechanism = BY_NAME[name](k=k, epsilon=epsilon)  # type: ignore[call-arg]
    return math.sqrt(mechanism.channel.expected_l2(N) / k)


def relative(name: str, k: int, epsilon: float) -> float:
    """Return the error as a multiple of that of the best mechanism."""
    return error(name, k, epsilon) / min(error(other, k, epsilon) for other in NAMES)


def errors() -> str:
    """Return the errors of all mechanisms relative to that of `Subset`, which is the smallest."""
    settings = [(k, epsilon) for k in SIZES for epsilon in EPSILONS]
    lines = ["| k | " + " | ".join(str(k) for k, _ in settings) + " |"]
    lines.append("|---|" + "---:|" * len(settings))
    lines.append("| **ε** | " + " | ".join(f"**{epsilon:g}**" for _, epsilon in settings) + " |")
    smallest = [f"{100 * error('Subset', *setting):.2f}" for setting in settings]
    lines.append("| `Subset`, in % | " + " | ".join(smallest) + " |")
    for name in NAMES:
        if name != "Subset":
            cells = [f"×{relative(name, *setting):.2f}" for setting in settings]
            lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table(name: str) -> str:
    """Return a table by its name in the pages."""
    makers = {
        **http_tables.TABLES,
        "peers": peers_table.peers,
        "errors": errors,
        "estimators": comparison,
        "accuracy": accuracy,
        "memories": memories,
    }
    return makers[name]()


def memories() -> str:
    """Return what each memory of a device promises, at which price, and when to take it."""
    heads = ["`memory`", "`epsilon_permanent` for each", "between", "visible beyond that"]
    heads += ["price", "take it if"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for m in MEMORIES.values():
        cells = [f'`"{m.name}"`', m.unit, m.between, m.visible, m.price, m.use]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


@cache
def l1_errors(mechanism: KRR | Subset, law: str) -> dict[str, float]:
    """Return the mean l1 error of each estimator that applies, over seeded simulations."""
    rng = np.random.default_rng(1)
    shares = LAWS[law] / LAWS[law].sum()
    found: dict[str, list[float]] = {}
    for _ in range(TIMES):
        people = rng.multinomial(PEOPLE, shares)
        for name, estimated in _all_estimates(mechanism, people, rng).items():
            found.setdefault(name, []).append(float(np.abs(estimated - people / PEOPLE).sum()))
    return {name: float(np.mean(errors)) for name, errors in found.items()}


def _all_estimates(
    mechanism: KRR | Subset, people: Integers, rng: np.random.Generator
) -> dict[str, Floats]:
    reports = mechanism.encode_many(np.repeat(np.arange(ANSWERS), people), rng)
    counts = mechanism.count(reports)
    out = {}
    with warnings.catch_warnings(action="ignore", category=estimators.NoiseDominates):
        for name, estimator in estimators.BY_NAME.items():
            if name in ("likelihood", "em") and not counts.channel.is_histogram:
                continue
            if name in NOT_FOR_ITS_ANSWERS:
                continue
            out[name] = estimator(counts).shares
        if isinstance(mechanism, Subset):
            out["report_likelihood"] = estimators.report_likelihood(mechanism, reports).shares
    return out


def comparison() -> str:
    """Return the l1 errors of all estimators, the smallest of each column in bold."""
    columns = {(m, law): l1_errors(m, law) for m in COMPARED for law in LAWS}
    heads = [f"`{type(m).__name__}`, {law}" for m, law in columns]
    lines = ["| estimator | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for name in (*estimators.BY_NAME, "report_likelihood"):
        if name in SAME or not any(name in errors for errors in columns.values()):
            continue
        cells = []
        for errors in columns.values():
            text = f"{errors[name]:.3f}" if name in errors else "–"
            cells.append(f"**{text}**" if text == f"{min(errors.values()):.3f}" else text)
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def accuracy() -> str:
    """Return the rows over all mechanisms of the benchmark's page, one for each of its parts."""
    text = (DOCS / "results" / "accuracy.md").read_text(encoding="utf-8")
    lines: list[str] = []
    for part in text.split("\n## ")[1:]:
        title, _, rest = part.partition("\n")
        header, rule, *rows = re.findall(r"^\|.*\|$", rest, re.MULTILINE)
        [whole] = [row for row in rows if row.startswith("| all |")]
        lines += [] if lines else [header.replace("mechanism", "part"), rule]
        lines.append(whole.replace("| all |", f"| {title} |"))
    return "\n".join(lines)


def fill(text: str) -> str:
    """Return a page with its tables as they are today."""
    return _PLACE.sub(lambda found: found[1] + table(found[2]) + found[3], text)


def main() -> None:
    """Print every table, or write the pages."""
    if "--write" in sys.argv[1:]:
        for page in (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))):
            page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    for name in ("errors", "estimators", "accuracy"):
        sys.stdout.write(f"{name}\n\n{table(name)}\n\n")


if __name__ == "__main__":
    main()
