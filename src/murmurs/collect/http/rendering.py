"""Rendering: a result as JSON, CSV, text or a stream of Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from murmurs.collect.http.replies import Reply, json_reply
from murmurs.collect.refusals import RefusedError
from murmurs.collect.results.compute import Result
from murmurs.present import frames

CSV = "text/csv; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
ARROW = "application/vnd.apache.arrow.stream"


def rendered(result: Result, form: str) -> Reply:
    """Return a result in the form that was asked for."""
    if form == "json":
        return json_reply(result.document)
    if form == "csv":
        return Reply(frames.to_csv(result.columns).encode(), media=CSV)
    if form == "text":
        return Reply(f"{result.text}\n".encode(), media=TEXT)
    return Reply(_arrow(result.columns), media=ARROW)


def _arrow(columns: Mapping[str, Any]) -> bytes:
    """Return columns as a stream of Arrow."""
    try:
        table = frames.to_arrow(columns)
        import pyarrow as pa
    except ImportError:
        reason = "this collector has no pyarrow (extra frames): ask for csv, json or text"
        raise RefusedError(400, "format", reason) from None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
