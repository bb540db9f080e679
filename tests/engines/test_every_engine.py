"""What every engine promises: the counts of the questions themselves, to the last unit.

An engine listed in `murmurs.engines.NAMES` is held to it.
"""

from __future__ import annotations

import base64
import datetime
import importlib
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from murmurs import Dictionary, Joint, Question, Survey
from murmurs.engines import NAMES, SourceError, sources
from murmurs.wire import Category, Reports, Shape
from tests.engines.made import (
    COFFEE,
    DRINK,
    HOT,
    LABELS,
    ONE,
    Engine,
    asked_with,
    drinks,
    of,
    plain,
    reports_to,
    written,
)
from tests.input_forms import REPORTS, rows, texts
from tests.laws import SMALL

N = 60
"""Reports in each form."""


def test_every_engine_is_a_module() -> None:
    for name in NAMES:
        assert callable(importlib.import_module(f"murmurs.engines.{name}").count)


# Every mechanism in every form of a column


def integers(kind: Any) -> Callable[[Shape[Any], Reports], Any]:
    def made(shape: Shape[Any], reports: Reports) -> Any:
        small = isinstance(shape, Category) and shape.count <= 2 ** (kind.bit_width - 1)
        return pa.array(reports.tolist(), kind) if small else None

    return made


FORMS: dict[str, Callable[[Shape[Any], Reports], Any]] = {
    **{name: REPORTS[name] for name in REPORTS if name.startswith("Arrow") and "list" not in name},
    **{str(kind): integers(kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): integers(kind) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "nulls": lambda s, r: pa.array(
        [None if i % 3 else row for i, row in enumerate(rows(s, r))], pa.binary(s.size)
    ),
    "only nulls": lambda s, r: pa.nulls(len(r)),
}
"""Columns that the files of the engines may have."""

_ASKED = [Question(name, ["x", "y", "z"], epsilon=1.0) for name in "abcd"]
EVERY = Survey(
    "every",
    (
        *(asked_with(f"q{i}", mechanism) for i, mechanism in enumerate(SMALL)),
        *_ASKED,
        Dictionary(6.0, 3, name="word"),
    ),
    joints=(Joint(*_ASKED[:2], name="both"), Joint(*_ASKED[2:], name="once", once=True)),
)


def column(asked: Any, form: str) -> Any:
    """The reports to a question in a form; as bytes, if its shape has no such form."""
    shape, reports = asked.mechanism.shape, reports_to(asked, N)
    found = FORMS[form](shape, reports)
    return found if found is not None else pa.array(rows(shape, reports), pa.binary(shape.size))


def test_every_mechanism_in_every_form(engine: Engine, tmp_path: Path) -> None:
    for place, form in enumerate(FORMS):
        own = {asked.name: column(asked, form) for asked in EVERY.reported}
        # Parquet has no views.
        kind = "arrow" if "view" in form or place % 4 == 3 else "parquet"
        written(tmp_path / f"form={form}" / f"a.{kind}", pa.table(own), group=7 * place + 1)
    counted = engine(tmp_path, EVERY, by="form", people="different")
    assert counted.rows == N * len(FORMS)
    expected = {
        (form,): {asked.name: of(asked, reports_to(asked, N)) for asked in EVERY.reported}
        for form in FORMS
        if "nulls" not in form
    }
    kept = np.arange(0, N, 3)
    expected["nulls",] = {a.name: of(a, reports_to(a, N)[kept]) for a in EVERY.reported}
    assert plain(counted) == expected
    assert counted.missing == {a.name: 2 * N - len(kept) for a in EVERY.reported}
