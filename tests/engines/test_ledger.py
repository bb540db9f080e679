"""What a job remembers: complete runs alone, one at a time, of the same job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from murmurs import Survey
from murmurs.engines import SourceError, ledger, local
from tests.engines.clusters import ROOT
from tests.engines.made import COFFEE, DRINK, HOT, ONE, drinks, of, plain, written

N = 10


def file(path: Path, seed: int, ids: int = 0) -> Path:
    columns = {"drink": drinks(N, seed), "id": range(ids, ids + N), "region": ["x", "y"] * 5}
    return written(path, columns, group=4)


def test_a_job_that_is_killed_leaves_what_was_remembered(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    file(data / "a.parquet", 1)
    first = local.count(data, ONE, id="id", memory=memory)
    before = (memory / ledger.FILE).read_bytes()
    file(data / "b.parquet", 2, ids=5)
    job = "\n".join(
        [
            "import os, signal, sys",
            "from murmurs.engines import ledger, local",
            "from tests.engines.made import ONE",
            "def killed(self):",
            "    (self.folder / '.murmurs-half').write_bytes(b'half')",
            "    os.kill(os.getpid(), signal.SIGKILL)",
            "ledger.Ledger.write = killed",
            "local.count(sys.argv[1], ONE, id='id', memory=sys.argv[2])",
        ]
    )
    arguments = [sys.executable, "-c", job, str(data), str(memory)]
    done = subprocess.run(arguments, cwd=ROOT, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert (memory / ledger.FILE).read_bytes() == before
    counted = local.count(data, ONE, id="id", memory=memory)
    assert (counted.rows, counted.new, counted.repeated) == (2 * N, N, 5)
    assert counted["drink"].n == first["drink"].n + 5


def test_one_job_at_a_time_has_a_memory(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    file(data / "a.parquet", 1)
    job = (
        "import sys\nfrom murmurs.engines import ledger\n"
        "with ledger.opened(sys.argv[1]):\n    print('has it', flush=True)\n    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", job, str(memory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "has it\n"
        with pytest.raises(ValueError, match=r"another job counts with the memory .*: wait until"):
            local.count(data, ONE, memory=memory)
        os.kill(other.pid, signal.SIGKILL)
        other.communicate()
    assert local.count(data, ONE, memory=memory)["drink"].n == N


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"by": "region"}, "by"),
        ({"id": "id"}, "id"),
        ({"bad": "skip"}, "bad"),
        ({"columns": {"drink": "id"}}, "columns"),
        ({"reported": True}, "reported"),
    ],
)
def test_another_job_needs_another_memory(
    other: dict[str, object], name: str, tmp_path: Path
) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    file(data / "a.parquet", 1)
    local.count(data, ONE, memory=memory)
    with pytest.raises(ValueError, match=rf"^{memory} remembers a job with another {name}: give"):
        local.count(data, ONE, memory=memory, **other)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"another survey: give this one a folder of its own"):
        local.count(data, Survey("two", (DRINK,)), memory=memory)


def test_segments_and_what_was_left_out_are_remembered(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    bad = [None if i == 3 else 7 if i == 4 else int(one) for i, one in enumerate(drinks(N))]
    columns = {"drink": bad, "region": ["x", "y"] * 5, "hot": [0, 1] * 5}
    for number in range(3):
        written(data / f"{number}.parquet", columns, group=4)
        counted = local.count(data, COFFEE, by="region", bad="skip", memory=memory)
        fresh = local.count(data, COFFEE, by="region", bad="skip")
        assert (plain(counted), counted.missing) == (plain(fresh), fresh.missing)
        assert (counted.refused, counted.samples) == (fresh.refused, fresh.samples)
        assert (counted.rows, counted.new) == (N * (number + 1), N)
    assert plain(counted)["x",]["hot"] == of(HOT, [0] * 15)


def test_a_file_that_was_only_touched_is_known(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    path = file(data / "a.parquet", 1)
    local.count(data, ONE, memory=memory)
    os.utime(path, (1, 1))
    assert local.count(data, ONE, memory=memory).new == 0
    written(path, {"drink": drinks(N, 2), "id": range(N), "region": ["x", "y"] * 5}, group=4)
    with pytest.raises(SourceError, match=r"a\.parquet was counted before, and has changed since"):
        local.count(data, ONE, memory=memory)


def test_a_job_that_fails_is_not_remembered(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    file(data / "a.parquet", 1)
    bad = written(data / "b.parquet", {"drink": [0, 9]})
    with pytest.raises(SourceError, match=r"b\.parquet, row 2"):
        local.count(data, ONE, memory=memory)
    bad.unlink()
    assert local.count(data, ONE, memory=memory).new == N


def test_an_empty_file_that_is_filled_later_is_new(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    path = written(data / "a.parquet", pa.table({"drink": pa.array([], pa.int64())}))
    assert local.count(data, ONE, memory=memory).rows == 0
    assert local.count(data, ONE, memory=memory).rows == 0
    written(path, {"drink": drinks(N)})
    assert local.count(data, ONE, memory=memory).new == N


def test_what_is_no_memory(tmp_path: Path) -> None:
    data, memory = tmp_path / "data", tmp_path / "memory"
    file(data / "a.parquet", 1)
    with pytest.raises(ValueError, match="memory is a folder of this computer, not 's3://x/y'"):
        local.count(data, ONE, memory="s3://x/y")
    with pytest.raises(TypeError, match="memory is for files: a table in memory cannot be told"):
        local.count(pa.table({"drink": [0]}), ONE, memory=memory)
    (memory / ledger.FILE).write_bytes(b"something else")
    with pytest.raises(
        ValueError, match=r"is not what a job has remembered .*: use another folder"
    ):
        local.count(data, ONE, memory=memory)


def test_a_scratch_folder_that_workers_do_not_see_is_one_sentence(tmp_path: Path) -> None:
    path = file(tmp_path / "data" / "a.parquet", 1)
    with pytest.raises(SourceError, match=r"^the folder .*a\.parquet/.* cannot be made: check"):
        local.count(path, ONE, id="id", scratch=path)
    with pytest.raises(
        SourceError, match=r"^gopher://x/y is not an address that can be read, such as"
    ):
        local.count(path, ONE, id="id", scratch="gopher://name:secret@x/y")

    def lost(done: int, of_all: int) -> None:
        for one in (tmp_path / "scratch").rglob("*"):
            if one.is_file():
                one.unlink()

    with pytest.raises(SourceError, match=r"does not see the files .*: give scratch= a folder"):
        local.count(path, ONE, id="id", scratch=tmp_path / "scratch", progress=lost)
    assert list((tmp_path / "scratch").iterdir()) == []
