"""Ledger: which files a job has counted, and their sum; the next run counts only new ones.

The folder has one file, ``counted.arrow``, with the counts, the files and how they were counted. It
is replaced when a run is complete, so that nothing is half counted. If ids are checked, those of
all files so far are beside it.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from murmurs.boundary.checks import shown
from murmurs.boundary.locks import locked
from murmurs.boundary.writing import writing
from murmurs.engines.job import Job
from murmurs.engines.repeats import Ids, ids_of
from murmurs.engines.scratch import Scratch
from murmurs.engines.sources import AnyPart, Found, Part, SourceError
from murmurs.engines.tally import Refusal, Sum, Tally

FILE, LOCK = "counted.arrow", "lock"
FORMAT = 2
_ABOUT = b"murmurs_counted"
_BLOCK = 2**22


@dataclass(frozen=True)
class Entry:
    """A file that was counted."""

    name: str
    size: int
    changed_ns: int | None
    checksum: int


@dataclass
class Ledger:
    """What a job has counted so far."""

    folder: Path
    how: dict[str, Any] | None = None
    files: dict[str, Entry] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    ids: tuple[Ids, ...] = ()
    key: int = field(default_factory=lambda: secrets.randbits(63), repr=False)
    next_part: int = 0

    def new_parts(self, job: Job, found: Found) -> tuple[AnyPart, ...]:
        """Return the parts of files that were not counted yet; a file that changed is refused."""
        how = _how(job)
        if self.how is not None and how != self.how:
            different = [name for name in how if how[name] != self.how.get(name)]
            raise ValueError(
                f"{self.folder} remembers a job with another {', '.join(different)}: give this one "
                "a folder of its own"
            )
        for (_, name), own in self.tally.sums.items():
            own.cells = own.cells.reshape(job.survey.asked(name).mechanism.channel.cells)
        new: list[AnyPart] = []
        for part in found.parts:
            if not isinstance(part, Part):
                raise TypeError("memory is for files: a table in memory cannot be told apart")
            before = self.files.get(part.name)
            if before is None:
                new.append(replace(part, number=self.next_part + len(new)))
            elif not _same(before, part):
                raise SourceError(
                    f"{part.name} was counted before, and has changed since: its old reports "
                    "cannot be taken back, so count everything again with a new memory"
                )
        return tuple(new)

    def add(self, job: Job, parts: Sequence[AnyPart], tally: Tally) -> Tally:
        """Add a run that is complete, and write the ledger; return the sum of all runs."""
        files = dict(self.files)
        for part in parts:
            if isinstance(part, Part) and part.rows and part.name not in files:
                version = part.version
                files[part.name] = Entry(
                    part.name, version.size, version.changed_ns, _checksum(part)
                )
                part.check_unchanged()
        ids = (*self.ids, *map(ids_of, parts)) if job.identity is not None else ()
        total = Tally() + self.tally + tally
        written = Ledger(
            self.folder, _how(job), files, total, ids, self.key, self.next_part + len(parts)
        )
        written.write()
        return total

    def scratch(self) -> Any:
        """Return the folder of the ids, which stay."""
        return _kept(self.folder / "ids")

    def write(self) -> None:
        """Write the ledger; the one before is replaced when all is on the disk."""
        import pyarrow
        from pyarrow import ipc

        about = {
            "format": FORMAT,
            "how": self.how,
            "files": [vars(entry) for entry in self.files.values()],
            "rows": self.tally.rows,
            "missing": self.tally.missing,
            "refused": self.tally.refused,
            "repeated": self.tally.repeated,
            "samples": self.tally.samples,
            "ids": self.ids,
            "key": self.key,
            "next_part": self.next_part,
        }
        rows = [
            {"segment": list(segment), "question": name, "n": own.n, "cells": own.cells.ravel()}
            for (segment, name), own in self.tally.sums.items()
        ]
        schema = pyarrow.schema(
            [
                ("segment", pyarrow.list_(pyarrow.string())),
                ("question", pyarrow.string()),
                ("n", pyarrow.int64()),
                ("cells", pyarrow.list_(pyarrow.int64())),
            ],
            {_ABOUT: json.dumps(about)},
        )
        with writing(self.folder / FILE) as file, ipc.new_file(file, schema) as writer:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))


@contextmanager
def opened(folder: str | Path | None) -> Iterator[Ledger | None]:
    """Return what a folder remembers: nothing if it is new, None if there is no folder.

    Only one job at a time may have it: what two jobs count at once, one would forget.
    """
    if folder is None:
        yield None
        return
    if "://" in str(folder):
        raise ValueError(f"memory is a folder of this computer, not {shown(str(folder))}")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path / LOCK))
        except BlockingIOError:
            raise ValueError(
                f"another job counts with the memory {path}: wait until it is done"
            ) from None
        yield _read(path)


def _read(path: Path) -> Ledger:
    """Return what a folder remembers."""
    if not (path / FILE).exists():
        return Ledger(path)
    from pyarrow import ArrowException, ipc

    try:
        with ipc.open_file(path / FILE) as reader:
            table = reader.read_all()
        about = json.loads((table.schema.metadata or {})[_ABOUT])
        if about["format"] != FORMAT:
            raise ValueError("its format is another one")
        sums = {
            (tuple(row["segment"]), row["question"]): Sum(
                row["n"], np.array(row["cells"], np.int64)
            )
            for row in table.to_pylist()
        }
        tally = Tally(
            about["rows"],
            sums,
            about["missing"],
            about["refused"],
            about["repeated"],
            [Refusal(*own) for own in about["samples"]],
        )
        files = {own["name"]: Entry(**own) for own in about["files"]}
        ids = tuple(Ids(*own) for own in about["ids"])
        return Ledger(path, about["how"], files, tally, ids, about["key"], about["next_part"])
    except (ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path / FILE} is not what a job has remembered ({error}): use another folder, and "
            "count everything again"
        ) from None


def _how(job: Job) -> dict[str, Any]:
    """Return what must stay the same from run to run."""
    return {
        "survey": job.survey.fingerprint,
        "columns": None if job.columns is None else [list(pair) for pair in job.columns],
        "by": list(job.by),
        "id": job.identity,
        "reported": job.reported,
        "bad": job.bad,
    }


def _same(before: Entry, part: Part) -> bool:
    """Whether a file is the one that was counted; its bytes are only read if its time differs."""
    if part.version.size != before.size:
        return False
    return part.version.changed_ns == before.changed_ns or _checksum(part) == before.checksum


def _checksum(part: Part) -> int:
    """Return the CRC-32 of a file."""
    found = 0
    with part.filesystem.open_input_stream(part.inside) as file:
        while data := file.read(_BLOCK):
            found = zlib.crc32(data, found)
    return found


@contextmanager
def _kept(folder: Path) -> Iterator[Scratch]:
    from pyarrow.fs import LocalFileSystem

    folder.mkdir(exist_ok=True)
    yield Scratch(str(folder.absolute()), LocalFileSystem())
