"""The battery of input forms: every form in which answers and reports may come.

`ANSWERS` are forms of a column of labels, which `test_question` holds to one set of reports;
`REPORTS` are forms of reports, which `test_every_form` holds to one set of counts, for every
mechanism. A new form joins by being listed here. A form that only some shapes of reports have gives
None for the others.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from murmurs import OUE
from murmurs.wire import Category, Reports, Shape

LABELS = ("espresso", "filter", "tea", "nothing")
"""The labels of the answers; "mate" is an answer that is none of them."""

ANSWERS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda x: (value for value in x),
    "NumPy text": lambda x: np.array(x),
    "NumPy objects": lambda x: np.array(x, object),
    "pandas objects": lambda x: pd.Series(x, dtype=object),
    "pandas strings": lambda x: pd.Series(x, dtype="string"),
    "pandas Arrow strings": lambda x: pd.Series(x, dtype="string[pyarrow]"),
    "pandas categories": lambda x: pd.Series(x, dtype="category"),
    "pandas Categorical": pd.Categorical,
    "pandas Index": pd.Index,
    "pandas with an index": lambda x: pd.Series(x, index=range(100, 100 + len(x))),
    "pandas with a shuffled index": lambda x: pd.Series(x, index=range(len(x))[::-1]),
    "pandas unused categories": lambda x: pd.Categorical(
        x, ["unused", *sorted({*x} - {None}, reverse=True), "unused too"]
    ),
    "pandas Arrow dictionary": lambda x: pd.Series(
        x, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    ),
    "polars": pl.Series,
    "polars slice": lambda x: pl.Series(["mate", *x], dtype=pl.Categorical)[1:],
    "polars categories": lambda x: pl.Series(x, dtype=pl.Categorical),
    "polars Enum": lambda x: pl.Series(x, dtype=pl.Enum([*LABELS, "mate"])),
    "Arrow": pa.array,
    "Arrow large strings": lambda x: pa.array(x, pa.large_string()),
    "Arrow chunks": lambda x: pa.chunked_array([x[:2], x[2:]]),
    "Arrow string view": lambda x: pa.array(x, pa.string_view()),
    "Arrow slice": lambda x: pa.array(["mate", None, *x]).slice(2),
    "Arrow chunks and an empty one": lambda x: pa.chunked_array([x[:2], [], x[2:]], pa.string()),
    "Arrow dictionary slice": lambda x: pa.array(["mate", None, *x]).dictionary_encode().slice(2),
    "Arrow dictionary with a null": lambda x: pa.DictionaryArray.from_arrays(
        pa.array([[None, "unused", *LABELS, "mate"].index(value) for value in x], pa.uint8()),
        pa.array([None, "unused", *LABELS, "mate"]),
    ),
    "Arrow dictionary": lambda x: pa.array(x).dictionary_encode(),
    "Arrow dictionary chunks": lambda x: pa.chunked_array([x[:2], x[2:]]).dictionary_encode(),
}
"""Every form of a column of labels; one listed here is held to all that follows."""

N = 150
"""Reports in each form."""

Form = Callable[[Shape[Any], Reports], Any]


def rows(shape: Shape[Any], reports: Reports) -> list[bytes]:
    data, size = reports.tobytes(), shape.size
    return [data[at : at + size] for at in range(0, len(data), size)]


def texts(shape: Shape[Any], reports: Reports) -> list[str]:
    return [base64.b64encode(row).decode() for row in rows(shape, reports)]


def as_json(shape: Shape[Any], reports: Reports) -> list[Any]:
    values = [shape.to_json(report) for report in shape.unstack(reports)]
    found: list[Any] = json.loads(json.dumps(values))
    return found


def lines(text: str) -> str:
    return "\n".join(text[at : at + 76] for at in range(0, len(text), 76)) + "\n"


def chunked(values: list[Any], kind: Any) -> Any:
    return pa.chunked_array([values[:100], [], values[100:101], values[101:]], kind)


def sliced(values: list[Any], kind: Any) -> Any:
    """Values as a part of a larger array, whose buffers begin elsewhere."""
    return pa.array([values[0], values[0], values[0], *values, values[0]], kind)[3:-1]


def of_numbers(make: Callable[[Reports], Any]) -> Form:
    return lambda shape, reports: make(reports) if isinstance(shape, Category) else None


def of_lists(make: Callable[[list[Any]], Any]) -> Form:
    """Only for shapes whose JSON form is a list of numbers."""

    def form(shape: Shape[Any], reports: Reports) -> Any:
        values = as_json(shape, reports)
        numbers = all(isinstance(v, list) and set(map(type, v)) == {int} for v in values)
        return make(values) if numbers else None

    return form


def masked(values: Any) -> Any:
    return np.ma.masked_array(values, mask=False)


REPORTS: dict[str, Form] = {
    "array": lambda shape, reports: reports,
    "array in reverse memory order": lambda shape, reports: reports[::-1].copy()[::-1],
    "list of arrays": lambda shape, reports: [reports[:100], reports[100:]],
    "generator of arrays": lambda shape, reports: (reports[a:b] for a, b in pairwise((0, 9, N))),
    "single reports": lambda shape, reports: shape.unstack(reports),
    "generator of single reports": lambda shape, reports: iter(shape.unstack(reports)),
    "tuple of single reports": lambda shape, reports: tuple(shape.unstack(reports)),
    "bytes": lambda shape, reports: reports.tobytes(),
    "bytearray": lambda shape, reports: bytearray(reports.tobytes()),
    "part of a memoryview": lambda shape, reports: memoryview(b"x" + reports.tobytes())[1:],
    "list of bytes": rows,
    "list of bytearrays": lambda shape, reports: [bytearray(row) for row in rows(shape, reports)],
    "base64 text": lambda shape, reports: base64.b64encode(reports.tobytes()).decode(),
    "base64 text in lines": lambda shape, r: lines(base64.b64encode(r.tobytes()).decode()),
    "list of base64 texts": texts,
    "list of JSON values": as_json,
    "every second in another form": lambda shape, reports: [
        (row, text)[i % 2]
        for i, (row, text) in enumerate(
            zip(rows(shape, reports), as_json(shape, reports), strict=True)
        )
    ],
    "columns, arrays and single reports": lambda shape, reports: [
        *rows(shape, reports[:7]),
        pa.array(rows(shape, reports[7:50]), pa.binary()),
        reports[50:60],
        pd.Series(texts(shape, reports[60:])),
    ],
    "array of bytes": lambda s, r: np.frombuffer(r.tobytes(), f"V{s.size}"),
    "array of NumPy's bytes": lambda s, r: np.frombuffer(r.tobytes(), f"S{s.size}"),
    "array of objects": lambda shape, reports: np.array([*rows(shape, reports), None], object)[:-1],
    "array of texts": lambda shape, reports: np.array(texts(shape, reports)),
    "array of NumPy's strings": lambda s, r: np.array(texts(s, r), np.dtypes.StringDType()),
    "masked array": lambda shape, reports: masked(reports),
    "array of int64": of_numbers(lambda reports: reports.astype(np.int64)),
    "array in big-endian order": of_numbers(lambda reports: reports.astype(">i4")),
    "list of NumPy integers": of_numbers(lambda reports: list(reports.astype(np.int64))),
    "pandas bytes": lambda s, r: pd.Series(rows(s, r)),
    "pandas texts": lambda s, r: pd.Series(texts(s, r)),
    "pandas objects": lambda s, r: pd.Series(texts(s, r), dtype=object),
    "pandas texts of Arrow": lambda s, r: pd.Series(texts(s, r), dtype=pd.ArrowDtype(pa.string())),
    "pandas bytes of Arrow": lambda s, r: pd.Series(rows(s, r), dtype=pd.ArrowDtype(pa.binary())),
    "pandas JSON values": lambda s, r: pd.Series(as_json(s, r)),
    "pandas categories": lambda s, r: pd.Series(texts(s, r), dtype="category"),
    "pandas index": lambda s, r: pd.Index(texts(s, r)),
    "pandas with another index": lambda s, r: pd.Series(rows(s, r), index=range(N, 0, -1)),
    "pandas integers": of_numbers(pd.Series),
    "pandas nullable integers": of_numbers(lambda r: pd.Series(r, dtype="Int64")),
    "pandas integers of Arrow": of_numbers(lambda r: pd.Series(r, dtype="int32[pyarrow]")),
    "polars bytes": lambda s, r: pl.Series(rows(s, r)),
    "polars texts": lambda s, r: pl.Series(texts(s, r)),
    "polars categories": lambda s, r: pl.Series(texts(s, r), dtype=pl.Categorical),
    "polars integers": of_numbers(lambda r: pl.Series(r.astype(np.int64))),
    "polars lists": of_lists(pl.Series),
    "polars in chunks": lambda s, r: pl.concat(
        [pl.Series(rows(s, r[:9])), pl.Series(rows(s, r[9:]))], rechunk=False
    ),
    "Arrow fixed-size binary": lambda s, r: pa.array(rows(s, r), pa.binary(s.size)),
    "Arrow binary": lambda s, r: pa.array(rows(s, r), pa.binary()),
    "Arrow large binary": lambda s, r: pa.array(rows(s, r), pa.large_binary()),
    "Arrow binary view": lambda s, r: pa.array(rows(s, r), pa.binary_view()),
    "Arrow texts": lambda s, r: pa.array(texts(s, r)),
    "Arrow large texts": lambda s, r: pa.array(texts(s, r), pa.large_string()),
    "Arrow text views": lambda s, r: pa.array(texts(s, r), pa.string_view()),
    "Arrow dictionary": lambda s, r: pa.array(texts(s, r)).dictionary_encode(),
    "Arrow dictionary of binary": lambda s, r: pa.array(rows(s, r)).dictionary_encode(),
    "Arrow chunks of fixed-size binary": lambda s, r: chunked(rows(s, r), pa.binary(s.size)),
    "Arrow chunks of binary": lambda s, r: chunked(rows(s, r), pa.binary()),
    "Arrow chunks of texts": lambda s, r: chunked(texts(s, r), pa.string()),
    "part of Arrow fixed-size binary": lambda s, r: sliced(rows(s, r), pa.binary(s.size)),
    "part of Arrow binary": lambda s, r: sliced(rows(s, r), pa.binary()),
    "part of Arrow large binary": lambda s, r: sliced(rows(s, r), pa.large_binary()),
    "list of Arrow's scalars": lambda s, r: list(pa.array(rows(s, r), pa.binary())),
    "Arrow integers": of_numbers(pa.array),
    "Arrow 64-bit integers": of_numbers(lambda r: pa.array(r, pa.int64())),
    "Arrow chunks of integers": of_numbers(lambda r: chunked(r.tolist(), pa.int32())),
    "part of Arrow integers": of_numbers(lambda r: sliced(r.tolist(), pa.int32())),
    "Arrow dictionary of integers": of_numbers(lambda r: pa.array(r).dictionary_encode()),
    "Arrow lists": of_lists(pa.array),
    "Arrow large lists": of_lists(lambda v: pa.array(v, pa.large_list(pa.int64()))),
    "Arrow fixed-size lists": of_lists(lambda v: pa.array(v, pa.list_(pa.int64(), len(v[0])))),
    "Arrow fixed-size lists of bytes": lambda s, r: (
        pa.array([list(row) for row in rows(s, r)], pa.list_(pa.uint8(), s.size))
        if isinstance(s, type(OUE(k=4, epsilon=1.0).shape))
        else None
    ),
}
"""Every form of reports."""
