"""Studies: the errors of mechanisms and estimators, measured on simulated populations.

Every population is drawn with `Mechanism.simulate`, so that a study of a billion people takes as
long as one of a thousand. Errors are relative to the shares of the respondents.
"""

from __future__ import annotations

import secrets
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from murmurs import estimators as known_estimators
from murmurs.boundary.checks import real, shown, whole
from murmurs.channel import MOST_PEOPLE
from murmurs.mechanism import Mechanism
from murmurs.mechanisms import BY_NAME
from murmurs.numerics.arrays import Floats, Integers
from murmurs.planning.laws import people_of, shares_of
from murmurs.present import frames
from murmurs.present.errors import plot_errors
from murmurs.present.text import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from murmurs.counts import Counts
    from murmurs.estimation import Estimate

DEFAULT = "default"
"""The name of the estimator that `murmurs.estimate` chooses."""

ERRORS = ("l1", "l2", "largest")
PARAMETERS = ("epsilon", "people", "answers")
KEYS = ("mechanism", "estimator", "law", "answers", "people", "epsilon")

Make = Callable[[int, float], Mechanism[Any]]
Solve = Callable[["Counts"], "Estimate"]


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
class ErrorStudy:
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

    def to_csv(self) -> str:
        """Return the table as CSV, with a header."""
        return frames.to_csv(self.columns())

    def to_arrow(self) -> Any:
        """Return the table as a pyarrow.Table."""
        return frames.to_arrow(self.columns())

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame."""
        return frames.to_pandas(self.columns())

    def to_polars(self) -> Any:
        """Return the table as a polars.DataFrame."""
        return frames.to_polars(self.columns())

    def table(self, *, limit: int = 60) -> str:
        """Return the table for the terminal: means with their standard errors."""
        rows = [
            [
                row.mechanism,
                row.estimator,
                row.law,
                f"{row.answers}",
                f"{row.people:,}",
                f"{row.epsilon:g}",
                *(_with_error(getattr(row, e), getattr(row, f"{e}_se")) for e in ERRORS),
            ]
            for row in self.rows[:limit]
        ]
        text = table([*KEYS, *ERRORS], rows, left=3)
        more = len(self.rows) - limit
        return text + (f"\n… and {more} more" if more > 0 else "")

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
        varying = [key for key in others if len({getattr(row, key) for row in self.rows}) > 1]
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
        what = {"l1": "sum of absolute errors", "l2": "sum of squared errors"}
        names = (x, f"{y}: {what.get(y, 'largest absolute error')}")
        heading = f"{said} · {self.repetitions} repetitions" if said else ""
        return plot_errors(series, styles, names, heading if title is None else title, axes)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return (
            f"{self.table()}\n\nMeans of {self.repetitions} repetitions, each with its standard "
            "error; l1: sum of absolute errors, l2: of squared errors."
            + "".join(f"\nNote: {note}." for note in self.notes)
        )

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
) -> ErrorStudy:
    """Measure the errors of mechanisms and estimators on simulated populations.

    Every argument takes one or several; the study runs all combinations. ``mechanisms`` are names
    such as "KRR", or functions (k, epsilon) -> mechanism, such as the classes themselves. ``laws``
    say how common the answers are: "uniform", "zipf", "geometric", "sparse" or "point" (see
    `murmurs.planning.laws`), functions k -> shares, or shares. ``estimators`` are names,
    functions counts -> estimate, or "default". A mapping gives functions and shares names.

    Before anything is measured, every estimator is tried on every mechanism. Pairs that do not fit
    are left out, and `ErrorStudy.notes` names them; if none fits, that is an error.

    All estimators see the same counts. With the same seed a row has the same numbers, whatever else
    is compared; without one, `ErrorStudy.seed` tells which was drawn.

    >>> found = study(["KRR", "OUE"], answers=16, people=10_000, epsilons=[1, 4], random=1)
    >>> print(found.table())
    mechanism  estimator  law      answers  people  epsilon               l1                l2           largest
    ─────────  ─────────  ───────  ───────  ──────  ───────  ───────────────  ────────────────  ────────────────
    KRR        default    uniform       16  10,000        1   0.0174 ± 0.002  0.000125 ± 5e-05  0.00428 ± 0.0008
    KRR        default    uniform       16  10,000        4  0.0129 ± 0.0003  1.74e-05 ± 9e-07   0.00218 ± 7e-05
    OUE        default    uniform       16  10,000        1    0.016 ± 0.002  9.25e-05 ± 4e-05   0.0034 ± 0.0006
    OUE        default    uniform       16  10,000        4  0.0146 ± 0.0003  2.04e-05 ± 8e-07   0.00222 ± 6e-05
    """  # noqa: E501
    made = _makers(mechanisms)
    solved = _solvers(estimators)
    drawn = _laws(laws)
    sizes = [whole(k, "answers", 2, 10**6) for k in _several(answers, "answers")]
    numbers = [whole(n, "people", 1, MOST_PEOPLE) for n in _several(people, "people")]
    privacy = [real(e, "epsilons", 1e-6, 700) for e in _several(epsilons, "epsilons")]
    repetitions = whole(repetitions, "repetitions", 2, 10**9)
    seed = _seed(random)
    fitting, notes = _fitting(made, sizes, privacy, solved, max(numbers))
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", known_estimators.NoiseDominates)
        for (name, make), k, epsilon in product(made.items(), sizes, privacy):
            mechanism = _mechanism(name, make, k, epsilon)
            own = {solver: solved[solver] for solver in fitting[name, k, epsilon]}
            for (law, share), n in product(drawn.items(), numbers):
                key = (name, law, k, n, epsilon)
                rng = np.random.default_rng([seed, zlib.crc32(repr(key).encode())])
                histogram = people_of(shares_of(share, k, law), n)
                errors = _errors(mechanism, histogram, own, repetitions, rng)
                rows += [
                    _row((name, solver, law, k, n, epsilon), found)
                    for solver, found in zip(own, errors, strict=True)
                ]
    return ErrorStudy(tuple(rows), repetitions, seed, notes)


def _fitting(
    made: Mapping[str, Make],
    sizes: list[int],
    privacy: list[float],
    solvers: Mapping[str, Solve],
    people: int,
) -> tuple[dict[tuple[str, int, float], list[str]], tuple[str, ...]]:
    """Return the estimators that work on each mechanism, and notes about those that do not.

    Each is tried once, on the counts of so many people.
    """
    found: dict[tuple[str, int, float], list[str]] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for (name, make), k, epsilon in product(made.items(), sizes, privacy):
        mechanism = _mechanism(name, make, k, epsilon)
        histogram = people_of(np.full(k, 1 / k), people)
        counts = mechanism.simulate(histogram, np.random.default_rng(0))
        fit = found[name, k, epsilon] = []
        for solver, solve in solvers.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    solve(counts)
            except (TypeError, ValueError) as error:
                reasons.setdefault((solver, name), []).append(str(error))
            else:
                fit.append(solver)
    times = len(sizes) * len(privacy)
    notes = []
    for (solver, name), said in reasons.items():
        part = "" if len(said) == times else f" at {len(said)} of {times} settings"
        notes.append(
            f"estimator {shown(solver)} does not fit {name}{part} and is left out: {said[0]}"
        )
    if not any(found.values()):
        raise ValueError("no estimator fits any mechanism: " + "; ".join(notes))
    return found, tuple(notes)


def _errors(
    mechanism: Mechanism[Any],
    histogram: Integers,
    solvers: Mapping[str, Solve],
    repetitions: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the errors: of each estimator, in each repetition, of each kind."""
    truth = histogram / histogram.sum()
    out = np.empty((len(solvers), repetitions, len(ERRORS)))
    for time in range(repetitions):
        counts = mechanism.simulate(histogram, rng)
        for number, (name, solve) in enumerate(solvers.items()):
            try:
                away = np.abs(solve(counts).shares - truth)
            except (TypeError, ValueError) as error:
                raise ValueError(f"estimator {shown(name)} on {mechanism}: {error}") from error
            out[number, time] = away.sum(), (away**2).sum(), away.max()
    return out


def _row(key: tuple[Any, ...], found: Floats) -> Row:
    means = found.mean(axis=0)
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    pairs = zip(means.tolist(), errors.tolist(), strict=True)
    return Row(*key, *(value for pair in pairs for value in pair))


def _several(given: Any, name: str) -> list[Any]:
    """Return one or several as a list."""
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    found = [given] if is_one else list(given)
    if not found:
        raise ValueError(f"{name} is empty: give at least one")
    return found


def _by_name(given: Any, name: str, kinds: str) -> Iterator[tuple[str, Any]]:
    """Return things with their names, which must differ."""
    if isinstance(given, Mapping):
        _several(given, name)
        yield from ((str(key), value) for key, value in given.items())
        return
    seen: set[str] = set()
    for one in _several(given, name):
        called = one if isinstance(one, str) else getattr(one, "__name__", "")
        if not called or called == "<lambda>":
            raise ValueError(
                f"{name} has {shown(one)}, which has no name: pass a mapping from name to {kinds}"
            )
        if called in seen:
            raise ValueError(f"{name} has {shown(called)} twice: names must differ")
        seen.add(called)
        yield called, one


def _makers(given: Any) -> dict[str, Make]:
    found: dict[str, Make] = {}
    for one in given.values() if isinstance(given, Mapping) else _several(given, "mechanisms"):
        if isinstance(one, Mechanism):
            raise TypeError(
                f"mechanisms has {shown(one)}, whose k and epsilon are fixed: pass its name, its "
                "class, or a mapping from name to function (k, epsilon) -> mechanism"
            )
    for name, one in _by_name(given, "mechanisms", "function (k, epsilon) -> mechanism"):
        if isinstance(one, str):
            if one not in BY_NAME:
                raise ValueError(
                    f"there is no mechanism {shown(one)}; choose one of {', '.join(BY_NAME)}, or "
                    "pass a function (k, epsilon) -> mechanism"
                )
            one = BY_NAME[one]
        if not callable(one):
            raise TypeError(
                f"a mechanism of a study is a name or a function (k, epsilon) -> mechanism, not "
                f"{shown(one)}"
            )
        found[name] = one
    return found


def _mechanism(name: str, make: Make, k: int, epsilon: float) -> Mechanism[Any]:
    try:
        mechanism = make(k, epsilon) if not isinstance(make, type) else make(k=k, epsilon=epsilon)
    except TypeError as error:
        raise TypeError(
            f"mechanism {shown(name)} cannot be made from k and epsilon alone ({error}): pass a "
            "function (k, epsilon) -> mechanism that sets the rest"
        ) from error
    if not isinstance(mechanism, Mechanism) or mechanism.k != k:
        raise TypeError(f"mechanism {shown(name)} made {shown(mechanism)}, not one of {k} answers")
    if mechanism.epsilon_realised > epsilon * (1 + 1e-9):
        raise ValueError(
            f"mechanism {shown(name)} made {shown(mechanism)} with epsilon "
            f"{mechanism.epsilon_realised:.4g}, more than the {epsilon:g} of this row: it would "
            "not be compared on equal terms"
        )
    return mechanism


def _solvers(given: Any) -> dict[str, Solve]:
    found: dict[str, Solve] = {}
    for name, one in _by_name(given, "estimators", "function counts -> estimate"):
        if one == DEFAULT:
            found[name] = known_estimators.estimate
        elif isinstance(one, str):
            if one not in known_estimators.BY_NAME:
                known = ", ".join([DEFAULT, *known_estimators.BY_NAME])
                raise ValueError(f"there is no estimator {shown(one)}; choose one of {known}")
            found[name] = known_estimators.BY_NAME[one]
        elif callable(one):
            found[name] = one
        else:
            raise TypeError(
                f"an estimator of a study is a name or a function counts -> estimate, not "
                f"{shown(one)}"
            )
    return found


def _laws(given: Any) -> dict[str, Any]:
    """Return laws by name; one array or list of numbers is one law."""
    if isinstance(given, np.ndarray) or (isinstance(given, list | tuple) and _are_numbers(given)):
        return {"given": given}
    return dict(_by_name(given, "laws", "shares or to a function k -> shares"))


def _are_numbers(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, int | float) for value in values)


def _seed(random: object) -> int:
    if random is None:
        return secrets.randbits(63)
    if isinstance(random, np.random.Generator):
        return int(random.integers(2**63))
    return whole(random, "random", 0, 2**63)


def _named(row: Row, key: str) -> str:
    value = getattr(row, key)
    if key in ("answers", "people"):
        return f"{value:,} {key}"
    return f"epsilon {value:g}" if key == "epsilon" else str(value)


def _with_error(value: float, error: float) -> str:
    return f"{value:.3g} ± {error:.1g}"
