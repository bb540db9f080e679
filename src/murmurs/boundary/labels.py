"""Labels: which answer a value in a column stands for.

A label is found in any Unicode normal form. Booleans stand for the labels yes and no (or true and
false), whole numbers for labels that are numbers. Errors give the position of an answer, never the
answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from murmurs.boundary.checks import shown, whole
from murmurs.boundary.frames import MISSING, is_missing
from murmurs.boundary.texts import BOOLEANS, check_text, listed

UNKNOWN = -2
"""The number of a value that stands for no label."""

OR_NAMED = ", or name a label for them with unknown=..."
"""The second way out for answers that are no labels; `Devices` has only the first."""


class Labels:
    """The labels of a question, or of its reports; ``owner`` is what errors call it."""

    def __init__(self, labels: tuple[str, ...], owner: str) -> None:
        self.labels, self.owner = labels, owner

    @property
    def rule(self) -> str:
        """What an answer is, as errors say it."""
        return f"answers are {listed(self.labels)}"

    def check(self) -> None:
        """Refuse labels that are not text, not printable, empty, or there twice."""
        seen: set[str] = set()
        for number, label in enumerate(self.labels):
            # The first test is a fast path: there may be a million labels.
            if not (type(label) is str and label.isprintable()):
                self._check_one(number, label)
            if not label.strip():
                raise ValueError(f"{self.owner} has an empty label")
            form = unicodedata.normalize("NFC", label)
            if form in seen:
                raise ValueError(f"{self.owner} has the label {shown(label)} twice")
            seen.add(form)

    def _check_one(self, number: int, label: Any) -> None:
        what = f"label {number} of {self.owner}"
        if isinstance(label, bool | np.bool_):
            raise TypeError(
                f"{what} must be text, not {bool(label)}: write labels such as ['yes', 'no']; "
                "answers may then be True and False"
            )
        if isinstance(label, int | np.integer):
            text = shown(int(label))
            raise TypeError(
                f"{what} must be text, not {text}: write '{text}'; answers may then be whole "
                "numbers"
            )
        check_text(label, what)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def _normal(self) -> dict[str, int]:
        return {unicodedata.normalize("NFC", label): n for label, n in self._numbers.items()}

    def number_of(self, value: Any) -> int:
        """Return the number of the label that a value stands for, or `UNKNOWN`.

        >>> tea = Labels(("no", "yes"), "question 'tea'")
        >>> tea.number_of(True), tea.number_of("no"), tea.number_of("perhaps")
        (1, 0, -2)
        """
        if isinstance(value, bool | np.bool_):
            names = BOOLEANS[bool(value)]
            named = [n for label, n in self._numbers.items() if label.lower() in names]
            return named[0] if len(named) == 1 else UNKNOWN
        if isinstance(value, float | np.floating) and float(value).is_integer():
            value = int(value)
        if isinstance(value, int | np.integer):
            value = str(value) if -(2**63) <= value < 2**63 else None
        if not isinstance(value, str):
            return UNKNOWN
        found = self._numbers.get(value)
        if found is None:
            found = self._normal.get(unicodedata.normalize("NFC", value))
        return UNKNOWN if found is None else found

    def find(self, value: object) -> int | None:
        """Return the number of the label that a value stands for, or None."""
        number = self.number_of(value)
        return None if number == UNKNOWN else number

    def table(
        self, values: Sequence[Any], missing: str | None = None, unknown: str | None = None
    ) -> NDArray[np.int64]:
        """Return the number of each value's label, and last that of a missing answer.

        ``missing`` and ``unknown`` name the labels of missing answers and of values that are no
        labels; without them, their numbers are negative.
        """
        other = UNKNOWN if unknown is None else self._named_for("unknown", unknown)
        gone = MISSING if missing is None else self._named_for("missing", missing)
        found = [self.number_of(value) for value in values]
        return np.array([other if n == UNKNOWN else n for n in found] + [gone], np.int64)

    def _named_for(self, option: str, label: str) -> int:
        number = self.number_of(label)
        if number == UNKNOWN:
            raise ValueError(
                f"{option} must be one of the labels {listed(self.labels)}, not {shown(label)}"
            )
        return number

    def refuse_bad(self, codes: Any, table: NDArray[np.int64], drop_missing: bool = False) -> None:
        """Refuse the first answer that is missing or not a label, if there is one."""
        if table[-1] < 0 and not drop_missing:
            refuse_missing(codes)
        self.refuse(np.isin(codes, np.flatnonzero(table[:-1] < 0)))

    def refuse(self, bad: NDArray[np.bool_]) -> None:
        """Refuse the first bad answer, if there is one."""
        if bad.any():
            raise ValueError(
                f"{self.told(bad)}, first answer number {int(bad.argmax())} (from 0): "
                f"correct them{OR_NAMED}"
            )

    def told(self, bad: NDArray[np.bool_]) -> str:
        """Return how many answers are bad, as in "1 of 600 answers is not a label of …"."""
        return f"{how_many(bad, 'answers', 'not labels')} of {self.owner} ({listed(self.labels)})"

    def totals_in(self, reported: Any) -> Mapping[Any, Any] | None:
        """Return labels with their numbers, if this is a mapping or has labels for its index."""
        if isinstance(reported, Mapping):
            return reported
        index: Any = getattr(reported, "index", None)
        if callable(index) or not hasattr(index, "tolist") or getattr(reported, "ndim", 0) != 1:
            return None
        labels = index.tolist()
        if not any(isinstance(label, str) and label in self._numbers for label in labels):
            return None
        return dict(zip(labels, cast(Any, reported).tolist(), strict=True))

    def added(
        self, totals: Mapping[Any, Any], drop_missing: bool, unknown: str | None, most: int
    ) -> list[int]:
        """Return the total of each label; errors do not quote others, which may be answers."""
        cells = [0] * len(self.labels)
        for position, (label, total) in enumerate(totals.items()):
            if is_missing(label):
                if drop_missing:
                    continue
                raise ValueError(
                    "some reported answers are missing: leave them out with drop_missing=True"
                )
            number = self.number_of(label)
            if number == UNKNOWN and unknown is None:
                raise ValueError(
                    f"label number {position} (from 0) of these totals is not a report to "
                    f"{self.owner}; reports are {listed(self.labels)}: correct it, or name a "
                    "report for it with unknown=..."
                )
            number = self._named_for("unknown", cast(str, unknown)) if number < 0 else number
            told = f"the number of people who reported {shown(self.labels[number])}"
            cells[number] += whole(total, told, 0, most)
        return cells


def refuse_missing(codes: Any, way: str = "leave them out with drop_missing=True") -> None:
    """Refuse the first missing answer, if there is one."""
    if len(codes) == 0 or int(codes.min()) >= 0:
        return
    bad = codes == MISSING
    if bad.any():
        raise ValueError(
            f"{how_many(bad, 'answers', 'missing')}, first answer number "
            f"{int(bad.argmax())} (from 0): {way}, or name a label for them with missing=..."
        )


def how_many(bad: Any, what: str, how: str) -> str:
    """Return how many of them are so, as in "1 of 600 answers is missing".

    >>> how_many(np.array([True, False]), "answers", "not labels")
    '1 of 2 answers is not a label'
    """
    many = int(bad.sum())
    told = f"are {how}" if many != 1 else f"is {how.replace('not labels', 'not a label')}"
    return f"{many} of {len(bad):,} {what} {told}"
