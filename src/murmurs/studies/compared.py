"""What a study compares: mechanisms, estimators and laws, by name; and which of them fit."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from types import CodeType
from typing import Any

import numpy as np

from murmurs import estimators as known_estimators
from murmurs.boundary.checks import shown
from murmurs.boundary.texts import meant
from murmurs.mechanisms import BY_NAME
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.studies.errors import Solve, solved_shares
from murmurs.studies.laws import people_of

DEFAULT = "default"
"""The name of the estimator that `murmurs.estimate` chooses."""

Make = Callable[[int, float], Mechanism[Any]]


def several(given: Any, name: str) -> list[Any]:
    """Return one or several as a list."""
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    found = [given] if is_one else list(given)
    if not found:
        raise ValueError(f"{name} is empty: give at least one")
    return found


def _by_name(given: Any, name: str, kinds: str) -> Iterator[tuple[str, Any]]:
    """Return things with their names, which must differ."""
    if isinstance(given, Mapping):
        several(given, name)
        yield from ((str(key), value) for key, value in given.items())
        return
    seen: set[str] = set()
    for one in several(given, name):
        called = one if isinstance(one, str) else getattr(one, "__name__", "")
        if not called or called == "<lambda>":
            raise ValueError(
                f"{name} has {shown(one)}, which has no name: pass a mapping from name to {kinds}"
            )
        if called in seen:
            raise ValueError(f"{name} has {shown(called)} twice: names must differ")
        seen.add(called)
        yield called, one


def makers_of(given: Any) -> dict[str, Make]:
    """Return functions that make mechanisms, by name."""
    found: dict[str, Make] = {}
    for one in given.values() if isinstance(given, Mapping) else several(given, "mechanisms"):
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
                    f"pass a function (k, epsilon) -> mechanism{meant(one, BY_NAME)}"
                )
            one = BY_NAME[one]
        if not callable(one):
            raise TypeError(
                f"a mechanism of a study is a name or a function (k, epsilon) -> mechanism, not "
                f"{shown(one)}"
            )
        found[name] = one
    return found


def mechanism_of(name: str, make: Make, k: int, epsilon: float) -> Mechanism[Any]:
    """Return the mechanism for k answers; its epsilon must not be above the given one."""
    try:
        mechanism = make(k, epsilon) if not isinstance(make, type) else make(k=k, epsilon=epsilon)
    except TypeError as error:
        raise TypeError(
            f"mechanism {shown(name)} cannot be made from k and epsilon alone ({error}): pass a "
            "function (k, epsilon) -> mechanism that sets the rest"
        ) from error
    if not isinstance(mechanism, Mechanism) or mechanism.k != k:
        raise TypeError(
            f"mechanism {shown(name)} made {shown(mechanism)}, not a mechanism for {k} answers"
        )
    if mechanism.epsilon_realised > epsilon * (1 + 1e-9):
        raise ValueError(
            f"mechanism {shown(name)} made {shown(mechanism)} with epsilon "
            f"{mechanism.epsilon_realised:.4g}, more than the {epsilon:g} of this row: it would "
            "not be compared on equal terms"
        )
    return mechanism


def solvers_of(given: Any) -> dict[str, Solve]:
    """Return estimators by name."""
    found: dict[str, Solve] = {}
    for name, one in _by_name(given, "estimators", "function counts -> estimate or shares"):
        if one == DEFAULT:
            found[name] = known_estimators.estimate
        elif isinstance(one, str):
            if one not in known_estimators.BY_NAME:
                known = ", ".join([DEFAULT, *known_estimators.BY_NAME])
                raise ValueError(
                    f"there is no estimator {shown(one)}; choose one of {known}"
                    f"{meant(one, [DEFAULT, *known_estimators.BY_NAME])}"
                )
            found[name] = known_estimators.BY_NAME[one]
        elif callable(one):
            found[name] = one
        else:
            raise TypeError(
                "an estimator of a study is a name or a function counts -> estimate or shares, "
                f"not {shown(one)}"
            )
    return found


def told_apart(name: str, solve: Solve) -> str:
    """Return the name of an estimator, and what tells it from others that were called the same.

    >>> told_apart("simplex", known_estimators.simplex)
    'simplex'
    """
    known = known_estimators.BY_NAME | {DEFAULT: known_estimators.estimate}
    return name if known.get(name) is solve else f"{name}={zlib.crc32(_told(solve).encode()):08x}"


def _told(function: Any) -> str:
    """Return what a function does, as far as its name, its defaults and its code tell."""
    if isinstance(function, partial):
        return f"{_told(function.func)} {function.args} {sorted(function.keywords.items())}"
    owner = function if hasattr(function, "__qualname__") else type(function)
    text = f"{owner.__module__}.{owner.__qualname__}"
    code = getattr(function, "__code__", None)
    if code is None:
        return text
    return f"{text} {function.__defaults__} {function.__kwdefaults__} {_coded(code)}"


def _coded(code: CodeType) -> str:
    constants = [_coded(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {constants}"


def laws_of(given: Any) -> dict[str, Any]:
    """Return laws by name; one array or list of numbers is one law."""
    if isinstance(given, np.ndarray) or (isinstance(given, list | tuple) and _are_numbers(given)):
        return {"given": given}
    return dict(_by_name(given, "laws", "shares or to a function k -> shares"))


def _are_numbers(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, int | float) for value in values)


def fitting(
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
        mechanism = mechanism_of(name, make, k, epsilon)
        histogram = people_of(np.full(k, 1 / k), people)
        counts = mechanism.simulate(histogram, np.random.default_rng(0))
        fit = found[name, k, epsilon] = []
        for solver, solve in solvers.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    solved = solve(counts)
            except (TypeError, ValueError) as error:
                reasons.setdefault((solver, name), []).append(str(error))
            else:
                _check_solved(solver, solved, k)
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


def _check_solved(name: str, solved: Any, k: int) -> None:
    """Refuse what an estimator returned if it has no shares: that is no matter of fitting."""
    try:
        solved_shares(solved, k)
    except TypeError as error:
        raise TypeError(f"estimator {shown(name)}: {error}") from None
