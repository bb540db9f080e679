"""The rows of a study in a folder of Parquet files, to which a run adds and from which it resumes.

There is a row for each repetition of each series: the parameters, the seed and the errors. Each
file has the rows of some cells, whole, and is written completely or not at all.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from murmurs.boundary.writing import writing
from murmurs.numerics.arrays import Floats, Integers
from murmurs.present import frames
from murmurs.studies.measured import Label, Series

FORMAT = 1
"""Raised when the columns change, or what the same parameters mean; older rows are then ignored."""

CELL, SEED, REPETITION = "cell", "seed", "repetition"


class Rows:
    """A folder of rows.

    ``cell`` tells which cell a row belongs to, ``repetition`` counts from 0 in each series; all
    other columns are parameters and what was measured.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        frames.needed("pyarrow", "frames")

    def prepare(self) -> None:
        """Make the folder, so that what cannot be kept is refused before it is measured."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(
                f"{self.folder} is a file, and rows are kept in a folder: give another name"
            ) from None

    def add(self, cells: Mapping[str, list[Series]]) -> None:
        """Add the rows of finished cells, in a file of their own."""
        self.prepare()
        table = frames.to_arrow(_columns(cells))
        kinds = {"format": str(FORMAT), "values": json.dumps(_kinds(cells))}
        table = table.replace_schema_metadata(kinds)
        number = len(self._files()) + 1
        path = self.folder / f"{number:05}-{secrets.token_hex(4)}.parquet"
        with writing(path) as file:
            frames.needed("pyarrow.parquet", "frames").write_table(table, file, compression="zstd")

    def known(self) -> set[str]:
        """Return the names of all cells that are there."""
        return {cell for path in self._files() for cell in _cells(path)}

    def read(self, wanted: Collection[str]) -> dict[str, list[Series]]:
        """Return the series of those of the wanted cells that are there, by name of the cell."""
        left = set(wanted)
        found: dict[str, list[Series]] = {}
        for path in self._files():
            here: dict[str, list[Series]] = {}
            for cell, series in _series(path, left):
                here.setdefault(cell, []).append(series)
            found |= here
            left -= set(here)
        return found

    def _files(self) -> list[Path]:
        """Return the files in the order of their names; hidden ones are other programs'."""
        every = self.folder.glob("*.parquet")
        return sorted(path for path in every if not path.name.startswith("."))


def _columns(cells: Mapping[str, list[Series]]) -> dict[str, Any]:
    """Return the rows of all series, one after another, as columns."""
    every = [(cell, series) for cell, several in cells.items() for series in several]
    first = every[0][1]
    for _, series in every:
        if set(series.labels) != set(first.labels) or set(series.values) != set(first.values):
            raise ValueError(
                f"series with {[*series.labels, *series.values]} and with "
                f"{[*first.labels, *first.values]} cannot be rows of one table"
            )
    times = np.array([series.repetitions for _, series in every])
    seeds = np.array([json.loads(cell)[-1] for cell, _ in every], np.uint64)
    return {
        CELL: _repeated([cell for cell, _ in every], times),
        SEED: np.repeat(seeds, times),
        **{
            name: _repeated([series.labels[name] for _, series in every], times)
            for name in first.labels
        },
        REPETITION: np.concatenate([np.arange(n) for n in times]),
        **{
            name: np.concatenate([series.values[name] for _, series in every])
            for name in first.values
        },
    }


def _repeated(labels: list[Label], times: Integers) -> Any:
    """Return a column with each label so many times; texts are stored once each."""
    if not isinstance(labels[0], str):
        return np.repeat(np.array(labels), times)
    names = list(dict.fromkeys(labels))
    numbers = {name: number for number, name in enumerate(names)}
    codes = np.repeat(np.array([numbers[label] for label in labels], np.int32), times)
    return frames.needed("pyarrow", "frames").DictionaryArray.from_arrays(codes, names)


def _kinds(cells: Mapping[str, list[Series]]) -> list[str]:
    """Return the names of what was measured."""
    return sorted(
        {name for several in cells.values() for series in several for name in series.values}
    )


def _cells(path: Path) -> list[str]:
    """Return the cells of a file."""
    read = frames.needed("pyarrow.parquet", "frames").read_table
    with _named(path):
        table = read(path, columns=[CELL])
        if table.schema.metadata[b"format"].decode() != str(FORMAT):
            return []
        found: list[str] = table[CELL].unique().to_pylist()
        return found


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in errors about what is in it."""
    try:
        yield
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{path} has no rows of a study ({error}): delete it, and its cells run again"
        ) from None


def _series(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Series]]:
    """Return the series of a file that belong to wanted cells."""
    read = frames.needed("pyarrow.parquet", "frames").read_table
    with _named(path):
        table = read(path)
        about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        kept, kinds = about["format"], set(json.loads(about["values"]))
        cells = table[CELL].unify_dictionaries().combine_chunks()
        columns = {name: table[name].to_numpy() for name in table.column_names if name != CELL}
        starts = np.flatnonzero(columns[REPETITION] == 0)
    if kept != str(FORMAT):
        return
    names, codes = cells.dictionary.to_pylist(), cells.indices.to_numpy()
    for start, end in zip(starts, [*starts[1:], len(codes)], strict=True):
        cell = names[codes[start]]
        if cell not in wanted:
            continue
        values: dict[str, Floats] = {name: columns[name][start:end] for name in sorted(kinds)}
        labels: dict[str, Label] = {
            name: _plain(column[start])
            for name, column in columns.items()
            if name not in kinds and name not in (SEED, REPETITION)
        }
        yield cell, Series(labels, values)


def _plain(value: Any) -> Label:
    plain: Label = value.item() if isinstance(value, np.generic) else value
    return plain
