"""Surveys, reports and files for the engines, and what they must add up to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from murmurs import Question, Survey
from murmurs.engines import Counted
from murmurs.mechanisms import Over, OverNGrams
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.questions.asked import Asked
from murmurs.wire import Reports

Engine = Callable[..., Counted]
"""The function `count` of an engine."""

Plain = dict[tuple[str, ...], dict[str, tuple[int, list[Any]]]]
"""Counts as plain values, by segment and question: the number of reports, and the cells."""

LABELS = ("tea", "mate", "rum", "nothing")
DRINK = Question("drink", LABELS, epsilon=1.0)
HOT = Question("hot", ("yes", "no"), epsilon=1.0)
COFFEE = Survey("coffee", (DRINK, HOT))
ONE = Survey("one", (DRINK,))


def asked_with(name: str, mechanism: Mechanism[Any]) -> Question:
    """A question with a mechanism of the battery; over candidates, the one without them."""
    if isinstance(mechanism, Over | OverNGrams):
        return Question(name, mechanism=mechanism.mechanism)
    labels = getattr(mechanism, "labels", ()) or [f"label {i}" for i in range(mechanism.k)]
    return Question(name, labels, mechanism=mechanism)


def reports_to(asked: Asked, n: int, seed: int = 1) -> Reports:
    """Reports of n people to a question."""
    rng = np.random.default_rng(seed)
    mechanism: Any = asked.mechanism
    if getattr(mechanism, "k", None) is None:
        return np.asarray(
            asked.encode_many(["tea", "mat", "rum"] * (n // 3) + ["tea"] * (n % 3), rng)
        )
    return np.asarray(mechanism.encode_many(rng.integers(0, mechanism.k, n), rng))


def drinks(n: int, seed: int = 1) -> Any:
    """Reports to the question "drink" as numbers."""
    return reports_to(DRINK, n, seed).astype(np.int64)


def plain(counted: Counted) -> Plain:
    """The counts of a job as plain values."""
    return {
        segment: {name: (counts.n, counts.cells.tolist()) for name, counts in own.items()}
        for segment, own in counted.segments.items()
    }


def of(asked: Asked, reports: Any) -> tuple[int, list[Any]]:
    """What a question itself counts."""
    counts = asked.count(reports)
    return counts.n, counts.cells.tolist()


def written(path: Path, columns: Any, *, group: int | None = None) -> Path:
    """Write a table, as the ending of the name says, with so many rows in a group."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=group)
    else:
        feather.write_feather(table, path, "uncompressed", chunksize=group)
    return path
