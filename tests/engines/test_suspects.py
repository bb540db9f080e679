"""Hashes that several rows have: found in any shards, the same for an id of any type."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

from murmurs.engines import SourceError, local, repeats, suspects
from murmurs.engines.suspects import Hashing
from tests.engines.made import DRINK, ONE, drinks, of, plain, written

SEED = 12345
LARGE = [b"x" * 16, bytes(range(16))]
TEXTS = ["", "a", "a\0", "b", "12345678", "123456789", "x" * 40, "Köln", "x" * 39 + "y"]


def hashes(column: Any) -> list[int]:
    hashing: Any = Hashing(None, 1, SEED)  # type: ignore[arg-type]
    return list(hashing.hashes(column).tolist())


def test_an_id_has_the_same_hash_in_every_type() -> None:
    numbers = [0, 1, 2, 100]
    kinds = (pa.int8(), pa.int16(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64())
    found = [hashes(pa.array(numbers, kind)) for kind in kinds]
    assert all(own == found[0] for own in found)
    texts = [hashes(pa.array(TEXTS, kind)) for kind in (pa.string(), pa.large_string())]
    texts.append(hashes(pa.array([text.encode() for text in TEXTS], pa.binary())))
    assert texts[0] == texts[1] == texts[2]
    assert hashes(pa.array(LARGE, pa.binary(16))) == hashes(pa.array(LARGE, pa.binary()))
    sliced = pa.array([*TEXTS, *TEXTS]).slice(3, len(TEXTS))
    assert hashes(sliced) == [*texts[0][3:], *texts[0][:3]]


def test_different_ids_have_different_hashes() -> None:
    """Of 64 bits, two of 200,000 random hashes are equal with probability 1.1e-9."""
    numbers = hashes(pa.array(np.arange(-100_000, 100_000)))
    assert len(set(numbers)) == len(numbers)
    for column in (
        pa.array(TEXTS),
        pa.array([f"person {i:05d}" for i in range(20_000)]),
        pa.array([str(UUID(int=i)) for i in range(20_000)]),
        pa.array([i.to_bytes(16, "big") for i in range(20_000)], pa.binary(16)),
        pa.array([i.to_bytes(16, "little") for i in range(20_000)], pa.binary(16)),
    ):
        assert len(set(hashes(column))) == len(column)


def test_the_first_bits_tell_ids_apart() -> None:
    """They decide the shard: of 2**13 ids in 16 shards, each has 512 ± 170 (8 deviations)."""
    for column in (pa.array(np.arange(2**13) << 20), pa.array(map(str, range(2**13)))):
        sizes = np.bincount(np.array(hashes(column), np.uint64) >> np.uint64(60), minlength=16)
        assert abs(sizes - 512).max() < 170


@pytest.mark.parametrize("most", [2**20, 3])
def test_ids_are_compared_in_many_shards_and_files(
    most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Three suspects at most are told to the workers, or all of them."""
    monkeypatch.setattr(suspects, "PER_SHARD", 50)
    monkeypatch.setattr(suspects, "_CHUNK", 64)
    monkeypatch.setattr(suspects, "MOST", most)
    first, second = (
        pa.table({"drink": drinks(500, seed), "id": np.arange(start, start + 500)})
        for seed, start in ((1, 0), (2, 490))
    )
    counted = local.count([first, second, first.slice(7, 1)], ONE, id="id")
    kept = np.concatenate([first["drink"], second["drink"][10:]])
    assert plain(counted) == {(): {"drink": of(DRINK, kept)}}
    assert counted.repeated == 11
    people = pa.table({"drink": ["tea"] * 1000, "id": [*range(500), *range(490, 990)]})
    with pytest.raises(SourceError, match="10 rows have a key in 'id' that another row has"):
        local.encode(people, tmp_path / "out", ONE, key="id")


def test_equal_hashes_of_different_ids_do_no_harm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Hashing, "hashes", lambda _, column: np.zeros(len(column), np.uint64))
    table = pa.table({"drink": drinks(90), "id": [*range(80), *range(10)]})
    counted = local.count(table, ONE, id="id")
    assert plain(counted) == {(): {"drink": of(DRINK, drinks(90)[:80])}}
    people = pa.table({"drink": ["tea"] * 80, "id": [f"person {i}" for i in range(80)]})
    assert local.encode(people, tmp_path / "out", ONE, key="id").rows == 80


def test_an_id_that_most_rows_share_fills_no_shard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(suspects, "_USUAL", 16)
    monkeypatch.setattr(suspects, "PER_SHARD", 64)
    ids = [i if i % 8 == 0 else 5 for i in range(2000)]
    expected = of(DRINK, drinks(2000)[[0, 1, *range(8, 2000, 8)]])
    table = pa.table({"drink": drinks(2000), "id": ids})
    assert plain(local.count(table, ONE, id="id")) == {(): {"drink": expected}}
    path = written(tmp_path / "a.parquet", table)
    counted = local.count(path, ONE, id="id", memory=tmp_path / "memory")
    assert (plain(counted), counted.repeated) == ({(): {"drink": expected}}, 1749)
    entries = 251 * repeats._ENTRY.itemsize
    assert (tmp_path / "memory/ids/ids-0-0").stat().st_size == repeats._HEAD + entries
    ordered = np.array([1, 1, 9, 8, 9, 9, 8, 9] + [9] * 200, np.uint64)
    found, ends = suspects._twice_at_most(ordered, np.array([0, 2, *[208] * 7]))
    assert (found.tolist(), ends.tolist()) == ([1, 1, 8, 8, 9, 9], [0, 2, *[6] * 7])
