"""Runs: rows that resume, numbers that do not depend on the order or the number of processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import murmurs as mm
from murmurs.studies.errors import errors_of
from murmurs.studies.measured import Series, Table
from murmurs.studies.rows import Rows
from murmurs.studies.running import Cell, run

CELLS = [Cell({"law": law, "answers": k}, 5) for law in ("first", "all") for k in (2, 3, 4)]


def measure(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Numbers that tell which cell was measured, and by chance which stream it had."""
    if cell["law"] == "broken":
        raise RuntimeError("the power is gone")
    drawn = rng.random(cell.repetitions)
    return [
        Series({"estimator": name}, {"l1": cell.whole("answers") + drawn, "l2": drawn**power})
        for power, name in ((1, "one"), (2, "two"))
    ]


def same(a: Table, b: Table) -> bool:
    """Whether two tables have the same series in the same order."""
    return len(a) == len(b) and all(
        dict(x.labels) == dict(y.labels)
        and all(np.array_equal(x.values[name], y.values[name]) for name in ("l1", "l2"))
        for x, y in zip(a, b, strict=True)
    )


def test_numbers_depend_on_the_cell_and_the_seed_alone() -> None:
    whole = run(measure, CELLS, 7)
    assert len(whole) == 12
    for cell in reversed(CELLS):
        assert same(run(measure, [cell], 7), whole.where(**cell.labels))
    assert not same(run(measure, CELLS, 8), whole)


def test_several_processes_give_the_same_rows_in_the_same_order() -> None:
    assert same(run(measure, CELLS, 7, processes=2), run(measure, CELLS, 7))


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "rows")
    broken = [*CELLS[:2], Cell({"law": "broken", "answers": 2}, 5), *CELLS[2:]]
    with pytest.raises(RuntimeError, match="the power is gone"):
        run(measure, broken, 7, rows=rows)
    done: list[str] = []

    def watched(cell: Cell, rng: np.random.Generator) -> list[Series]:
        done.append(cell.identity(7))
        return measure(cell, rng)

    said: list[tuple[int, int]] = []
    found = run(watched, CELLS, 7, rows=rows, progress=lambda *x: said.append(x))
    assert done == [cell.identity(7) for cell in CELLS[2:]]
    assert said == [(i, 6) for i in range(2, 7)]
    assert same(found, run(measure, CELLS, 7))
    assert same(run(watched, CELLS, 7, rows=rows), found)  # read, not measured again
    assert len(done) == 4


def _slow(cell: Cell, rng: np.random.Generator) -> list[Series]:
    """Leave the number of this process in a file, and take longer than any test."""
    Path(cell.text("folder"), str(os.getpid())).touch()
    time.sleep(600)
    return measure(cell, rng)


def _run_slowly(folder: str) -> None:
    run(_slow, [Cell({"folder": folder, "answers": k}, 2) for k in (2, 3)], 7, processes=2)


def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    parent = multiprocessing.get_context("spawn").Process(target=_run_slowly, args=(str(tmp_path),))
    parent.start()
    assert _becomes_true(lambda: len(list(tmp_path.iterdir())) == 2)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    parent.kill()
    parent.join()
    assert _becomes_true(lambda: not any(_runs(worker) for worker in workers))


def _killed(cell: Cell, rng: np.random.Generator) -> list[Series]:
    if cell["answers"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(cell, rng)


def test_a_worker_that_is_killed_is_told_plainly() -> None:
    with pytest.raises(ChildProcessError, match="run the same again with fewer processes"):
        run(_killed, CELLS, 7, processes=2)


def _becomes_true(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def _runs(process: int) -> bool:
    """Whether a process is there and is not only waiting for its end to be noticed."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it has ended meanwhile, or this system has no such folder
        return not Path("/proc/self").exists()


def test_other_seeds_repetitions_and_details_are_other_rows(tmp_path: Path) -> None:
    rows = Rows(tmp_path)
    run(measure, CELLS[:1], 7, rows=rows)
    others = [
        (Cell(CELLS[0].labels, 6), 7),
        (Cell(CELLS[0].labels, 5, "another estimator"), 7),
        (CELLS[0], 8),
    ]
    for cell, seed in others:
        assert rows.read([cell.identity(seed)]) == {}
        run(measure, [cell], seed, rows=rows)
    for cell, seed in [*others, (CELLS[0], 7)]:
        assert same(run(measure, [cell], seed, rows=rows), run(measure, [cell], seed))


def test_rows_are_parquet_for_everybody(tmp_path: Path) -> None:
    run(measure, CELLS, 2**63 - 1, rows=Rows(tmp_path))
    table = pq.read_table(tmp_path).to_pandas()
    assert set(table) == {"cell", "seed", "law", "answers", "estimator", "repetition", "l1", "l2"}
    assert len(table) == 60
    assert set(table["seed"]) == {2**63 - 1}
    assert sorted(set(table["answers"])) == [2, 3, 4]


def test_a_file_that_has_no_rows_is_named(tmp_path: Path) -> None:
    (tmp_path / "1.parquet").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"1\.parquet has no rows of a study"):
        Rows(tmp_path).read(["x"])


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    """Some systems put hidden files with the same ending beside those on foreign disks."""
    rows = Rows(tmp_path)
    found = run(measure, CELLS, 7, rows=rows)
    (tmp_path / "._00001.parquet").write_bytes(b"Mac OS X")
    (tmp_path / "notes.txt").write_text("mine")
    assert len(rows.known()) == len(CELLS)
    assert same(run(measure, CELLS, 7, rows=rows), found)


def test_rows_that_cannot_be_kept_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("mine")

    def never(cell: Cell, rng: np.random.Generator) -> list[Series]:
        raise AssertionError("measured in vain")

    with pytest.raises(NotADirectoryError, match="rows is a file, and rows are kept in a folder"):
        run(never, CELLS, 7, rows=Rows(tmp_path / "rows"))


def test_rows_of_different_kinds_do_not_mix(tmp_path: Path) -> None:
    one = Series({"k": 1}, {"l1": np.zeros(1)})
    two = Series({"j": 1}, {"l1": np.zeros(1)})
    with pytest.raises(ValueError, match="cannot be rows of one table"):
        Rows(tmp_path).add({CELLS[0].identity(1): [one, two]})
    assert list(tmp_path.iterdir()) == []


def test_a_study_resumes_and_grows(tmp_path: Path) -> None:
    said: list[tuple[int, int]] = []

    def small(people: list[int], estimators: list[str]) -> mm.ErrorStudy:
        said.clear()
        return mm.study(
            "KRR",
            answers=4,
            people=people,
            epsilons=1,
            estimators=estimators,
            repetitions=3,
            random=1,
            rows=tmp_path,
            progress=lambda *x: said.append(x),
        )

    first = small([100], ["unbiased"])
    grown = small([100, 200], ["unbiased"])
    assert said == [(1, 2), (2, 2)]
    assert first.rows[0] == grown.rows[0]
    assert len(small([100], ["unbiased", "simplex"])) == 2  # not those without the second
    assert said == [(0, 1), (1, 1)]


def test_another_estimator_of_the_same_name_is_measured_anew(tmp_path: Path) -> None:
    def first_share(solve: Callable[[mm.Counts], mm.Estimate]) -> float:
        found = mm.study(
            "KRR",
            answers=8,
            people=100,
            epsilons=0.5,
            estimators={"mine": solve},
            repetitions=3,
            random=1,
            rows=tmp_path,
        )
        return found.rows[0].l1

    simple = first_share(mm.estimators.simplex)
    assert first_share(lambda counts: mm.estimators.unbiased(counts)) > simple
    assert first_share(lambda counts: mm.estimators.simplex(counts)) == simple
    assert len(Rows(tmp_path).known()) == 3
    assert first_share(mm.estimators.simplex) == simple
    assert len(Rows(tmp_path).known()) == 3  # the same function again


def test_functions_that_no_other_process_can_import_are_refused() -> None:
    with pytest.raises(ValueError, match="at the top level of a module, or processes=1"):
        mm.study(
            {"mine": lambda k, epsilon: mm.KRR(k, epsilon)},
            answers=4,
            people=[10, 20],
            epsilons=1,
            random=1,
            processes=2,
        )


def test_respondents_may_be_drawn_anew_each_time() -> None:
    seen = []

    def people(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        seen.append(rng.multinomial(100, [0.5, 0.5]))
        return seen[-1]

    rng = np.random.default_rng(1)
    [found] = errors_of(mm.KRR(2, 1.0), people, {"default": mm.estimate}, 4, rng)
    assert found.repetitions == len(seen) == 4
    assert len({tuple(x) for x in seen}) > 1
