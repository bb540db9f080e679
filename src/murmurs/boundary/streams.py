"""Columns of programs that hand out Arrow streams, such as a relation of DuckDB with one column."""

from __future__ import annotations

from typing import Any

_KNOWN = ("numpy", "pandas", "polars", "pyarrow")
"""Packages whose columns are recognised without a stream."""


def is_stream(value: object) -> bool:
    """Whether a value of another package hands out its contents as an Arrow stream."""
    package = type(value).__module__.partition(".")[0]
    return package not in _KNOWN and hasattr(value, "__arrow_c_stream__")


def column_of(value: Any) -> Any:
    """Return the only column of a stream as a chunked array of Arrow; refuse a table of several."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            f"a column of type {type(value).__name__} is read with pyarrow: pip install "
            "'murmurs[frames]'"
        ) from error
    found = pyarrow.chunked_array(value)
    if not pyarrow.types.is_struct(found.type):
        return found
    if found.type.num_fields != 1:
        raise TypeError(
            f"a {type(value).__name__} has {found.type.num_fields} columns: select the one that is "
            "meant, as in relation['drink']"
        )
    kind = found.type.field(0).type
    return pyarrow.chunked_array([chunk.field(0) for chunk in found.chunks], kind)
