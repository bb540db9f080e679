"""Folders of reports: one job at a time writes one, and nothing of a job that failed stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from murmurs.engines import SourceError, scratch
from murmurs.engines.scratch import new_folder

LEFT = ".murmurs-out-0123456789abcdef"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_killed_tasks_have_left_unfinished_is_not_in_the_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        folder.write("part-00000.parquet", b"whole")
        Path(folder.folder, ".part-00001.parquet-0123456789abcdef").write_bytes(b"ha")
    assert names(tmp_path / "out") == ["part-00000.parquet"]


def test_a_second_job_is_refused_before_it_writes_and_does_no_harm(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        folder.write("part-00000.parquet", b"whole")
        with (
            pytest.raises(FileExistsError, match=r"another job writes .*out: wait until"),
            new_folder(tmp_path / "out"),
        ):
            raise AssertionError
        assert names(tmp_path) == [Path(folder.folder).name]
        with new_folder(tmp_path / "out2"):
            pass
    assert names(tmp_path) == ["out", "out2"]


def test_a_job_that_ends_while_another_begins_is_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was there when the other looked for its target, and not when that looked for folders."""

    def look(*_: Any) -> None:
        (tmp_path / "out").mkdir()

    monkeypatch.setattr(scratch, "_delete_abandoned", look)
    with pytest.raises(FileExistsError, match="out exists"), new_folder(tmp_path / "out"):
        raise AssertionError
    assert names(tmp_path) == ["out"]


class Stubborn(LocalFileSystem):  # type: ignore[misc]
    """Tasks of a job that was killed write into its folder while it is deleted."""

    def delete_dir(self, path: str) -> None:
        if path.endswith(LEFT):
            raise OSError("Directory not empty")
        super().delete_dir(path)


def test_what_cannot_be_deleted_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / LEFT).mkdir()
    monkeypatch.setattr("pyarrow.fs.LocalFileSystem", Stubborn)
    with (
        pytest.raises(SourceError, match=f"{LEFT} has reports of a job that did not end, and"),
        new_folder(tmp_path / "out"),
    ):
        raise AssertionError
    monkeypatch.undo()
    with new_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == ["out"]


class Store:
    """A store without folders, which fails when the second file gets its name."""

    def __init__(self, folder: Path) -> None:
        self._inside = SubTreeFileSystem(str(folder), LocalFileSystem())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inside, name)

    def move(self, source: str, target: str) -> None:
        if target == "out/b":
            raise OSError("the network is down")
        self._inside.move(source, target)


def test_a_store_that_fails_while_files_get_their_names_has_none_of_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scratch, "_located", lambda _: (Store(tmp_path), "out"))

    def write() -> None:
        with new_folder("s3://out") as folder:
            for name in ("a", "b"):
                folder.write(name, b"reports")

    with pytest.raises(OSError, match="the network is down"):
        write()
    assert names(tmp_path) == []
