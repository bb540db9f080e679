"""Batches: the rows of a part, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from murmurs.engines.sources import AnyPart, InMemory, Part, SourceError, Streamed, damaged

ROWS = 2**17
"""The most rows in a batch: 50 columns of reports of 16 bytes take 100 MB."""

_BUFFER = 2**20
"""Bytes of a column that are read ahead: a group of rows may be larger than the memory."""

_VIEWS = {"binary_view": "large_binary", "string_view": "large_string"}


def batches(
    part: AnyPart, columns: Sequence[str], ids: str | None = None
) -> Iterator[tuple[int, Any]]:
    """Return the columns of a part batch by batch, each with the number of its first row.

    Rows are numbered from 0 within the file. A file that was replaced meanwhile is refused. Texts
    are read as dictionaries, except those of the column ``ids``, which hardly ever repeat.
    """
    part.check_unchanged()
    first = part.first
    match part:
        case Part():
            stream = _of_file(part, columns, ids)
        case InMemory():
            stream = iter(part.table.select(list(columns)).to_batches(max_chunksize=ROWS))
        case Streamed():
            stream = (batch.select(list(columns)) for batch in part.stream)
    for batch in stream:
        yield first, _plain(batch)
        first += batch.num_rows
    part.check_unchanged()


def _plain(batch: Any) -> Any:
    """Return a batch without views and types of extensions, which not all that follows knows."""
    from pyarrow import RecordBatch

    return RecordBatch.from_arrays([_plainer(own) for own in batch.columns], batch.schema.names)


def _plainer(column: Any) -> Any:
    if hasattr(column, "storage"):
        return column.storage
    kind = _VIEWS.get(str(column.type))
    return column if kind is None else column.cast(kind)


def _of_file(part: Part, columns: Sequence[str], ids: str | None) -> Iterator[Any]:
    try:
        with damaged(part.path):
            if part.format == "parquet":
                yield from _of_parquet(part, columns, ids)
            else:
                yield from _of_ipc(part, columns)
    except SourceError:
        part.check_unchanged()  # another file, in which the groups of rows are others
        raise


def _of_parquet(part: Part, columns: Sequence[str], ids: str | None) -> Iterator[Any]:
    from pyarrow import types
    from pyarrow.parquet import ParquetFile

    with part.filesystem.open_input_file(part.inside) as opened:
        schema = ParquetFile(opened).schema_arrow
        texts = [name for name in columns if types.is_string(schema.field(name).type)]
        texts = [name for name in texts if name != ids]
        file = ParquetFile(opened, read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False)
        yield from file.iter_batches(
            ROWS, row_groups=list(part.groups), columns=list(columns), use_threads=False
        )


def _of_ipc(part: Part, columns: Sequence[str]) -> Iterator[Any]:
    from pyarrow import ipc

    with _opened(part) as opened:
        reader = ipc.open_file(opened)
        for group in part.groups:
            batch = reader.get_batch(group).select(list(columns))
            for start in range(0, batch.num_rows, ROWS):
                yield batch.slice(start, ROWS)


def _opened(part: Part) -> Any:
    """Open a file of Arrow; a local one is mapped into memory, since its batches may be larger."""
    from pyarrow import memory_map
    from pyarrow.fs import LocalFileSystem

    path = part.inside
    if isinstance(part.filesystem, LocalFileSystem):
        return memory_map(path)
    return part.filesystem.open_input_file(path)
