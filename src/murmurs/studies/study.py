"""Studies: the errors of mechanisms and estimators, measured on simulated populations.

Every population is drawn with `Mechanism.simulate`, so that a study of a billion people takes as
long as one of a thousand. Errors are relative to the shares of the respondents.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs.boundary.checks import real, shown, whole
from murmurs.channels.channel import MOST_PEOPLE
from murmurs.numerics.arrays import Integers
from murmurs.present import frames, latex
from murmurs.present.errors import plot_errors
from murmurs.present.layout import WIDTH, fold, taken, width
from murmurs.present.text import left_out, table
from murmurs.studies.compared import (
    DEFAULT,
    Make,
    fitting,
    laws_of,
    makers_of,
    mechanism_of,
    several,
    solvers_of,
    told_apart,
)
from murmurs.studies.errors import ERRORS, Solve, errors_of
from murmurs.studies.laws import people_of, shares_of
from murmurs.studies.measured import Series
from murmurs.studies.rows import Rows
from murmurs.studies.running import Cell, Progress, run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PARAMETERS = ("epsilon", "people", "answers")
_FORMS = {"epsilon": "g", "people": ",", "answers": ","}
KEYS = ("mechanism", "estimator", "law", "answers", "people", "epsilon")
_MEANING = {
    "l1": "sum of absolute errors",
    "l2": "sum of squared errors",
    "largest": "largest absolute error",
}


@dataclass(frozen=True)
class Row:
    """The mean errors of one mechanism and estimator, with their standard errors."""

    mechanism: str
    estimator: str
    law: str
    answers: int
    people: int
    epsilon: float
    l1: float
    l1_se: float
    l2: float
    l2_se: float
    largest: float
    largest_se: float


@dataclass(frozen=True, eq=False)
class ErrorStudy(frames.Tabular):
    """The rows of a study, made by `study`: one for each combination of what was compared.

    ``l1`` is the sum of the absolute errors of the shares, ``l2`` the sum of their squares, and
    ``largest`` the largest absolute error; each is a mean over the repetitions, with its standard
    error beside it (``l1_se`` and so on). ``seed`` repeats the study. ``notes`` say which
    estimators were left out, and why: some do not work on the counts of some mechanisms.
    """

    rows: tuple[Row, ...]
    repetitions: int
    seed: int
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, Any]:
        """Return the table as columns by name."""
        names = Row.__dataclass_fields__
        lists = {name: [getattr(row, name) for row in self.rows] for name in names}
        return {
            name: values if isinstance(values[0], str) else np.array(values)
            for name, values in lists.items()
        }

    def table(self, *, limit: int = 60) -> str:
        """Return the errors for the terminal: means with their standard errors.

        There is a table for each law, number of answers and number of people, which a line above it
        names. If the tables are too wide, the largest errors are left out; `columns` has them.
        """
        return self._laid_out(limit)[0]

    def _laid_out(self, limit: int) -> tuple[str, tuple[str, ...]]:
        """Return the tables and the errors that they show."""
        keys = [*KEYS[:2], *self._varying(["epsilon"])]
        above = [key for key in KEYS if key not in keys]
        parts: dict[str, list[Row]] = {}
        for row in self.rows[:limit]:
            parts.setdefault(", ".join(_named(row, key) for key in above), []).append(row)
        kinds: tuple[str, ...] = ERRORS
        cells = {name: [_cells(row, keys, kinds) for row in own] for name, own in parts.items()}
        every = zip([*keys, *kinds], *(row for own in cells.values() for row in own), strict=True)
        if taken([max(map(width, column)) for column in every]) > WIDTH:
            kinds = ERRORS[:-1]
            cells = {name: [_cells(row, keys, kinds) for row in own] for name, own in parts.items()}
        tables = (f"{name}\n\n{table([*keys, *kinds], own, left=2)}" for name, own in cells.items())
        return "\n\n".join(tables) + left_out(len(self.rows) - limit), kinds

    def to_latex(self) -> str:
        """Return the table for LaTeX, which needs no package there.

        What is the same in all rows is in a comment above the table.
        """
        varying = self._varying(KEYS) or ["mechanism"]
        fixed = ", ".join(_named(self.rows[0], key) for key in KEYS if key not in varying)
        rows = [
            [latex.escaped(f"{getattr(row, key):{_FORMS.get(key, '')}}") for key in varying]
            + [latex.plus_minus(*_rounded(row, error)) for error in ERRORS]
            for row in self.rows
        ]
        header = [r"$\varepsilon$" if key == "epsilon" else key for key in varying]
        names = ["$l_1$", "$l_2$", "largest"]
        about = f"{fixed}; means of {self.repetitions} repetitions with standard errors"
        left = sum(key not in PARAMETERS for key in varying)
        return latex.tabular([*header, *names], rows, left=left, about=about.removeprefix("; "))

    def plot(
        self,
        axes: Axes | None = None,
        *,
        x: str = "epsilon",
        y: str = "l1",
        title: str | None = None,
    ) -> Axes:
        """Draw an error against a parameter on logarithmic axes; return matplotlib's axes.

        There is one line for each combination of all else; the bars are two standard errors.
        """
        if x not in PARAMETERS:
            raise ValueError(f"x must be one of {', '.join(PARAMETERS)}, not {shown(x)}")
        if y not in ERRORS:
            raise ValueError(f"y must be one of {', '.join(ERRORS)}, not {shown(y)}")
        others = [key for key in KEYS if key != x]
        varying = self._varying(others)
        fixed = [key for key in others if key not in varying]
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            name = ", ".join(_named(row, key) for key in varying) or row.mechanism
            groups.setdefault(name, []).append(row)
        series = {}
        for name, rows in groups.items():
            rows.sort(key=lambda row: getattr(row, x))
            columns = [[getattr(row, wanted) for row in rows] for wanted in (x, y, f"{y}_se")]
            series[name] = np.array(columns, np.float64)
        colour = varying[0] if varying else "mechanism"
        styles = {name: str(getattr(rows[0], colour)) for name, rows in groups.items()}
        said = ", ".join(
            f"{_named(self.rows[0], key)}{' estimator' if key == 'estimator' else ''}"
            for key in fixed
        )
        names = (x, f"{y}: {_MEANING[y]}")
        heading = f"{said} · {self.repetitions} repetitions" if said else ""
        return plot_errors(series, styles, names, heading if title is None else title, axes)

    def _varying(self, keys: Iterable[str]) -> list[str]:
        """Return which of these differ between rows."""
        return [key for key in keys if len({getattr(row, key) for row in self.rows}) > 1]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        text, kinds = self._laid_out(60)
        meaning = ", ".join(f"{kind}: {_MEANING[kind]}" for kind in kinds)
        told = f"Means of {self.repetitions} repetitions ± standard errors; {meaning}."
        notes = "".join(f"\nNote: {note}." for note in self.notes)
        return f"{text}\n\n{fold(told + notes)}"

    def __repr__(self) -> str:
        return (
            f"ErrorStudy({len(self.rows)} rows, repetitions={self.repetitions}, seed={self.seed})"
        )


def study(
    mechanisms: Any,
    *,
    answers: int | Iterable[int],
    people: int | Iterable[int],
    epsilons: float | Iterable[float],
    laws: Any = "uniform",
    estimators: Any = DEFAULT,
    repetitions: int = 100,
    random: np.random.Generator | int | None = None,
    rows: str | Path | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> ErrorStudy:
    """Measure the errors of mechanisms and estimators on simulated populations.

    Every argument takes one or several; the study runs all combinations. ``mechanisms`` are names
    such as "KRR", or functions (k, epsilon) -> mechanism, such as the classes themselves. ``laws``
    say how common the answers are: "uniform", "zipf", "geometric", "sparse" or "point", functions
    k -> shares, or shares. ``estimators`` are names, functions counts -> estimate, or "default". A
    mapping gives functions and shares names.

    Before anything is measured, every estimator is tried on every mechanism. Pairs that do not fit
    are left out, and `ErrorStudy.notes` names them; if none fits, that is an error.

    All estimators see the same counts. With the same seed a row has the same numbers, whatever else
    is compared; without one, `ErrorStudy.seed` is the one that was drawn.

    ``rows`` is a folder of Parquet files, to which the errors of every repetition are added while
    the study runs. A study that was interrupted, or has grown since, measures only what is missing
    there. With several ``processes`` the numbers are the same; functions must then be at the top
    level of a module. ``progress`` is called with the number of finished cells and of all.

    >>> found = study(["KRR", "OUE"], answers=16, people=10_000, epsilons=[1, 4], random=1)
    >>> print(found.table())
    uniform, 16 answers, 10,000 people
    <BLANKLINE>
    mechanism  estimator  epsilon               l1                l2
    ─────────  ─────────  ───────  ───────────────  ────────────────
    KRR        default          1   0.0171 ± 0.003  0.000193 ± 9e-05
    KRR        default          4  0.0127 ± 0.0003  1.69e-05 ± 8e-07
    OUE        default          1   0.0163 ± 0.003  0.000136 ± 5e-05
    OUE        default          4  0.0141 ± 0.0003  1.91e-05 ± 8e-07
    """
    made = makers_of(mechanisms)
    solved = solvers_of(estimators)
    drawn = laws_of(laws)
    sizes = [whole(k, "answers", 2, 10**6) for k in several(answers, "answers")]
    numbers = [whole(n, "people", 1, MOST_PEOPLE) for n in several(people, "people")]
    privacy = [real(e, "epsilons", 1e-6, 700) for e in several(epsilons, "epsilons")]
    repetitions = whole(repetitions, "repetitions", 2, 10**9)
    processes = whole(processes, "processes", 1, 10**4)
    seed = _seed(random)
    fits, notes = fitting(made, sizes, privacy, solved, max(numbers))
    compared = _Compared(made, drawn, solved, fits)
    found = run(
        compared.measure,
        compared.cells(sizes, numbers, privacy, repetitions),
        seed,
        rows=None if rows is None else Rows(rows),
        processes=processes,
        progress=progress,
    )
    return ErrorStudy(tuple(map(_row, found)), repetitions, seed, notes)


@dataclass(frozen=True)
class _Compared:
    """What a study compares, and how a cell of it is measured."""

    made: dict[str, Make]
    drawn: dict[str, Any]
    solved: dict[str, Solve]
    fits: dict[tuple[str, int, float], list[str]]

    def cells(
        self, sizes: list[int], numbers: list[int], privacy: list[float], repetitions: int
    ) -> list[Cell]:
        """Return all combinations for which there is an estimator."""
        return [
            Cell(
                {"mechanism": name, "law": law, "answers": k, "people": n, "epsilon": epsilon},
                repetitions,
                self._details(name, law, k, n, epsilon),
            )
            for name, k, epsilon in product(self.made, sizes, privacy)
            for law, n in product(self.drawn, numbers)
            if self.fits[name, k, epsilon]
        ]

    def measure(self, cell: Cell, rng: np.random.Generator) -> list[Series]:
        """Return the errors of all estimators that fit the mechanism of a cell."""
        name, k, epsilon = cell.text("mechanism"), cell.whole("answers"), cell.real("epsilon")
        mechanism = mechanism_of(name, self.made[name], k, epsilon)
        histogram = self._people(cell.text("law"), k, cell.whole("people"))
        own = {solver: self.solved[solver] for solver in self.fits[name, k, epsilon]}
        return errors_of(mechanism, histogram, own, cell.repetitions, rng)

    def _people(self, law: str, k: int, n: int) -> Integers:
        return people_of(shares_of(self.drawn[law], k, law), n)

    def _details(self, name: str, law: str, k: int, n: int, epsilon: float) -> str:
        """Return what else the numbers depend on: the mechanism, the people, the estimators."""
        people = zlib.crc32(self._people(law, k, n).tobytes())
        made = mechanism_of(name, self.made[name], k, epsilon)
        solvers = (told_apart(own, self.solved[own]) for own in self.fits[name, k, epsilon])
        return f"{made} {people:08x} {' '.join(solvers)}"


def _row(series: Series) -> Row:
    pairs = [(series.mean(error), series.error(error)) for error in ERRORS]
    return Row(
        **{key: series[key] for key in KEYS},  # type: ignore[arg-type]
        **{  # type: ignore[arg-type]
            name: value
            for error, pair in zip(ERRORS, pairs, strict=True)
            for name, value in zip((error, f"{error}_se"), pair, strict=True)
        },
    )


def _seed(random: object) -> int:
    if random is None:
        return secrets.randbits(63)
    if isinstance(random, np.random.Generator):
        return int(random.integers(2**63))
    return whole(random, "random", 0, 2**63)


def _cells(row: Row, keys: list[str], kinds: tuple[str, ...]) -> list[str]:
    own = [f"{row.epsilon:g}" if key == "epsilon" else str(getattr(row, key)) for key in keys]
    return own + ["{:.3g} ± {:.1g}".format(*_rounded(row, error)) for error in kinds]


def _named(row: Row, key: str) -> str:
    value = getattr(row, key)
    if key in ("answers", "people"):
        return f"{value:,} {key}"
    return f"epsilon {value:g}" if key == "epsilon" else str(value)


def _rounded(row: Row, error: str) -> tuple[float, float]:
    """Return a mean and its standard error, which is 0 where it is rounding only."""
    value, own = getattr(row, error), getattr(row, f"{error}_se")
    return value, own if own > 1e-12 * abs(value) else 0.0
