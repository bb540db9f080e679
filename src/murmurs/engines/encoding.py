"""Encode columns of answers where they are, so that a task that runs twice gives the same reports.

Tasks are run again after a failure, twice if one is slow, and data frames are computed anew each
time they are used. Whoever saw two different reports of one answer would see epsilon twice. So all
chance of a row comes from a secret of the job, the key of the row and its answer
(`murmurs.randomness.keyed`).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import listed, meant, numbered
from murmurs.engines.batches import batches
from murmurs.engines.job import check_ids
from murmurs.engines.repeats import shards_for
from murmurs.engines.running import Total, compare, named
from murmurs.engines.scratch import Scratch, new_folder, scratch
from murmurs.engines.sources import AnyPart, Found, SourceError, find
from murmurs.engines.suspects import Hashes, Hashing, Writer, find_suspects, hashing_for
from murmurs.engines.tally import Tally
from murmurs.files.answers import check_options
from murmurs.files.private_table import Source, check_kept, sources_of
from murmurs.files.schema import FINGERPRINT, about, report_type
from murmurs.numerics.arrays import Integers
from murmurs.randomness.derived import Derived, check_secret
from murmurs.randomness.keyed import Keyed
from murmurs.survey.survey import Survey
from murmurs.wire import Reports

Labels = Mapping[str, str]


class Encoding(TypedDict, total=False):
    """How columns are encoded; the same for every engine.

    ``key`` is the column that tells rows apart, the same in every run; no two rows may share a
    value. ``columns`` maps questions to columns, None for one of the same name; without it,
    everything that the survey asks is encoded. ``missing`` and ``unknown`` map questions to labels;
    with ``drop_missing``, a missing answer gives no report. Columns in ``keep`` are copied as they
    are, and are not private. ``secret`` is a new one, unless a job shall give the reports of an
    earlier one. ``scratch`` is a folder that all workers see, where keys are compared.
    """

    key: str | None
    columns: Mapping[str, str | None] | None
    missing: Labels | None
    unknown: Labels | None
    drop_missing: bool
    keep: str | Sequence[str]
    secret: bytes | None
    scratch: str | Path | None
    filesystem: Any


@dataclass(frozen=True)
class Encoder:
    """What workers need to know to encode a batch of rows."""

    survey: Survey
    sources: tuple[Source, ...]
    key: str
    keep: tuple[str, ...]
    missing: dict[str, str]
    unknown: dict[str, str]
    drop_missing: bool
    secret: bytes = field(repr=False)

    @property
    def reads(self) -> list[str]:
        """The columns that are read, each once."""
        wanted = [column for source in self.sources for column in source.columns]
        return list(dict.fromkeys([*wanted, *self.keep, self.key]))

    @cached_property
    def _about(self) -> dict[bytes, bytes]:
        return about(self.survey)

    def schema(self, given: Any) -> Any:
        """Return the schema of what is written: the reports, and the columns that are kept."""
        import pyarrow

        fields = [(s.asked.name, report_type(s.asked.mechanism.shape)) for s in self.sources]
        fields += [(name, given.field(name).type) for name in self.keep]
        return pyarrow.schema(fields, self._about)

    def encoded(self, part: AnyPart, first: int, batch: Any, tally: Tally) -> Any:
        """Return the reports of a batch as a batch, its rows in another order."""
        import pyarrow

        keys = batch.column(self.key)
        if keys.null_count:
            row = first + int(np.argmax(keys.is_null().to_numpy(zero_copy_only=False)))
            raise SourceError(
                f"{part.name}, row {row + 1}: the key in {shown(self.key)} is missing"
            )
        order = self._order(part, first, batch.num_rows)
        columns = [
            self._reports(part, first, batch, source, keys, tally) for source in self.sources
        ]
        columns += [batch.column(name) for name in self.keep]
        schema = self.schema(batch.schema)
        return pyarrow.RecordBatch.from_arrays([own.take(order) for own in columns], schema=schema)

    def _order(self, part: AnyPart, first: int, n: int) -> Integers:
        """Return an order of rows that only the secret tells, and that is the same in every run.

        Another survey has another order: places do not tell whose reports belong together.
        """
        context = ("order of rows", self._about[FINGERPRINT], part.number, first)
        seed = Derived(self.secret, *context).take(32)
        return np.random.default_rng(int.from_bytes(seed, "little")).permutation(n)

    def _reports(
        self, part: AnyPart, first: int, batch: Any, source: Source, keys: Any, tally: Tally
    ) -> Any:
        asked, names = source.asked, source.asked.names
        answers = [batch.column(column) for column in source.columns]
        there = np.ones(batch.num_rows, np.bool_)
        if self.drop_missing:
            for name, own in zip(names, answers, strict=True):
                if name not in self.missing and own.null_count:
                    there &= own.is_valid().to_numpy(zero_copy_only=False)
        if not there.all():
            gone = len(there) - int(there.sum())
            tally.missing[asked.name] = tally.missing.get(asked.name, 0) + gone
            rows = np.flatnonzero(there)
            answers, keys = [own.take(rows) for own in answers], keys.take(rows)
        options: dict[str, Any] = {"missing": self.missing, "unknown": self.unknown}
        if not asked.is_joint:
            options = {option: found.get(asked.name) for option, found in options.items()}
        picked: Any = asked.pick(dict(zip(names, answers, strict=True)))
        try:
            random = Keyed(self.secret, (self._about[FINGERPRINT].decode(),), keys)
            reports = asked.encode_many(picked, random, **options)
        except (TypeError, ValueError, OverflowError) as error:
            raise SourceError(
                f"{part.name}, rows {first + 1} to {first + batch.num_rows}: {error}"
            ) from None
        return _column(reports, there, asked.mechanism.shape)


def _column(reports: Reports, there: Any, shape: Any) -> Any:
    """Return reports as a column; rows that are not there have null."""
    import pyarrow

    kind, n = report_type(shape), len(there)
    if len(reports) < n:
        full = np.zeros(n, reports.dtype) if shape.columns is None else shape.empty(n)
        full[there] = reports
        reports = full
    mask = None
    if not there.all():
        mask = pyarrow.py_buffer(np.packbits(there, bitorder="little").tobytes())
    data = pyarrow.py_buffer(np.ascontiguousarray(reports))
    return pyarrow.Array.from_buffers(kind, n, [mask, data])


@dataclass(frozen=True)
class Encoded:
    """What was written: how many rows, and for how many of them there is no report."""

    rows: int
    missing: dict[str, int]
    secret: bytes = field(repr=False)


def encode(
    total: Total, sources: object, target: str | Path, survey: Survey, **given: Unpack[Encoding]
) -> Encoded:
    """Encode columns of files, and write a folder of Parquet files with the reports."""
    found = find(sources, filesystem=given.get("filesystem"))
    encoder = encoder_of(survey, found, **given)
    with new_folder(target) as folder, scratch(given.get("scratch")) as notes:
        hashing = hashing_for(found.rows, notes)
        empty = {part.name: found.schemas[part.name] for part in found.parts if not part.rows}
        task = partial(_write, encoder, folder, hashing, empty)
        written = total(task, found.parts, Written())
        suspects = find_suspects(total, hashing, written.hashes)
        if suspects:
            shards = shards_for(found.rows, notes, encoder.key, only=(hashing, suspects))
            shared = compare(total, shards, found.parts, ())
            if shared:
                raise shared_keys(encoder.key, shared)
    return Encoded(written.tally.rows, written.tally.missing, encoder.secret)


def encoder_of(survey: Survey, found: Found, **given: Unpack[Encoding]) -> Encoder:
    """Return what workers need to know; what does not fit is refused before any work."""
    key = given.get("key")
    if key is None:
        raise ValueError(
            "key must name a column that tells rows apart and never changes, such as an id: a task "
            "that runs twice must give the same reports, or whoever sees both sees epsilon twice. "
            "A row number is no such key, nor a time: make a column of ids first"
        )
    keep, secret = given.get("keep", ()), given.get("secret")
    kept = (keep,) if isinstance(keep, str) else tuple(dict.fromkeys(keep))
    asked = sources_of(survey, given.get("columns"))
    check_kept(kept, asked, survey)
    encoder = Encoder(
        survey,
        asked,
        key,
        kept,
        dict(given.get("missing") or {}),
        dict(given.get("unknown") or {}),
        given.get("drop_missing", False),
        secrets.token_bytes(32) if secret is None else check_secret(secret),
    )
    for question in (question for source in asked for question in source.questions):
        missing = encoder.missing.get(question.name)
        drops = encoder.drop_missing and missing is None
        own = {"missing": missing, "unknown": encoder.unknown.get(question.name)}
        check_options(question, {**own, "drop_missing": drops})
    for name, schema in found.schemas.items():
        for column in encoder.reads:
            if column not in schema.names:
                raise SourceError(
                    f"{name} has no column called {shown(column)}; it has "
                    f"{listed(tuple(schema.names))}{meant(column, schema.names)}"
                )
            if schema.names.count(column) > 1:
                raise SourceError(f"{name} has several columns called {shown(column)}")
    check_ids(key, found)
    return encoder


def shared_keys(key: str, number: int) -> SourceError:
    """Return the refusal of rows that share a key: with one answer, they have one report."""
    have = "has" if number == 1 else "have"
    return SourceError(
        f"{numbered(number, 'row')} {have} a key in {shown(key)} that another row has: whether "
        "their reports are alike would tell whether their answers are; name a column with one "
        "value for each row"
    )


@dataclass(frozen=True)
class Written:
    """What a task has written: how many rows, and where the hashes of their keys are."""

    tally: Tally = field(default_factory=Tally)
    hashes: Hashes = field(default_factory=Hashes)

    def __add__(self, other: Written) -> Written:
        """Return what both have written."""
        return Written(self.tally + other.tally, self.hashes + other.hashes)


def _write(
    encoder: Encoder, folder: Scratch, hashing: Hashing, empty: Mapping[str, Any], part: AnyPart
) -> Written:
    """Encode a part, and write its file; on a worker. ``empty`` has schemas of files of no rows."""
    from pyarrow.parquet import ParquetWriter

    tally, keys, writer = Tally(), Writer(hashing, part), None
    with ExitStack() as stack:
        stack.enter_context(named(part, "encoded"))
        file = stack.enter_context(folder.writing(f"part-{part.number:05d}.parquet"))
        for first, batch in batches(part, encoder.reads, encoder.key):
            if writer is None:
                schema = encoder.schema(batch.schema)
                writer = stack.enter_context(ParquetWriter(file, schema, **_how(schema)))
            writer.write_batch(encoder.encoded(part, first, batch, tally))
            keys.put(batch.column(encoder.key))
            tally.rows += batch.num_rows
        if writer is None:
            ParquetWriter(file, encoder.schema(empty[part.name])).close()
    return Written(tally, keys.close())


def _how(schema: Any) -> dict[str, Any]:
    """Return how columns are written: random bits are not smaller in another form, which costs."""
    plain = {own.name for own in schema if str(own.type).startswith("fixed_size_binary")}
    return {
        "use_dictionary": [name for name in schema.names if name not in plain],
        "compression": {name: "none" if name in plain else "snappy" for name in schema.names},
    }
