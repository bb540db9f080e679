"""A file is written whole or not at all; devices, pipes and links stay what they are."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from murmurs.boundary.writing import is_standard_output, writing

BEFORE = b"what was there before"
_BEGIN = """
import signal, sys, time
from pathlib import Path
from murmurs.boundary.writing import writing
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def write(path: Path, data: bytes = b"new") -> None:
    with writing(path) as file:
        file.write(data)


def write_half(path: Path) -> None:
    with writing(path) as file:
        file.write(b"half")
        raise RuntimeError("unplugged")


def program(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Start a program that has ``writing``, ``Path``, ``signal``, ``sys`` and ``time``.

    Signals end it as usual, whatever the tests inherited: nohup ignores SIGHUP, and a shell
    script ignores SIGINT for what it starts in the background.
    """
    text = _BEGIN + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


# Whole or not at all


@pytest.mark.parametrize("there", [True, False])
def test_an_error_leaves_things_as_they_were(there: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if there:
        path.write_bytes(BEFORE)
    with pytest.raises(RuntimeError, match="unplugged"):
        write_half(path)
    assert [p.name for p in tmp_path.iterdir()] == (["file"] if there else [])
    assert not there or path.read_bytes() == BEFORE


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_that_ends_the_program_leaves_no_temporary_file(name: str, tmp_path: Path) -> None:
    path, number = tmp_path / "file", getattr(signal, name)
    path.write_bytes(BEFORE)
    code = """
        with writing(Path(sys.argv[1])) as file:
            file.write(b"half")
            file.flush()
            print("begun", flush=True)
            time.sleep(60)
    """
    with program(code, path) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"begun\n"
        assert len(list(tmp_path.iterdir())) == 2  # the temporary file is there now
        running.send_signal(number)
        status = running.wait(30)
        assert status == (-number if name == "SIGINT" else 128 + number)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == BEFORE


def test_a_signal_that_a_program_ignores_is_ignored(tmp_path: Path) -> None:
    """As under nohup: hanging up does not end it."""
    code = """
        import os
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with writing(Path(sys.argv[1])) as file:
            os.kill(os.getpid(), signal.SIGHUP)
            file.write(b"new")
    """
    with program(code, tmp_path / "file") as running:
        assert running.wait(30) == 0
    assert (tmp_path / "file").read_bytes() == b"new"


def test_signals_are_as_before_when_a_file_is_written(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    write(tmp_path / "file")
    assert signal.getsignal(signal.SIGTERM) == before
    in_thread = threading.Thread(target=write, args=(tmp_path / "other",))
    in_thread.start()
    in_thread.join()
    assert (tmp_path / "other").read_bytes() == b"new"


def test_a_full_disk_is_told_with_the_name_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(BEFORE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=rf"^cannot write {path}: File too large$"):
            write(path, bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == BEFORE
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it is a device of Linux")
def test_a_full_device_is_told_with_its_name() -> None:
    with pytest.raises(OSError, match=r"^cannot write /dev/full: No space left on device$"):
        write(Path("/dev/full"))


# Rights


def test_a_new_file_has_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    for mask, mode in ((0o022, 0o644), (0o027, 0o640), (0o077, 0o600)):
        before = os.umask(mask)
        try:
            write(tmp_path / f"{mask}")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / f"{mask}").stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_that_is_replaced_keeps_its_rights(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(BEFORE)
    path.chmod(mode)
    write(path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_file_that_may_only_be_read_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(BEFORE)
    monkeypatch.setattr(os, "access", lambda *_: False)  # who may do everything may write it too
    with pytest.raises(PermissionError, match=rf"^cannot write {path}: it is read-only$"):
        write(path)
    assert path.read_bytes() == BEFORE


@pytest.mark.parametrize(
    ("name", "reason"),
    [("no/where", "No such file or directory"), (".", "it is a folder"), ("file/x", "Not a dir")],
)
def test_a_place_where_nothing_can_be_written_is_told(
    name: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(BEFORE)
    with pytest.raises(OSError, match=f"^cannot write .*: {reason}"):
        write(tmp_path / name)


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    write(tmp_path / ("x" * 255))
    assert (tmp_path / ("x" * 255)).read_bytes() == b"new"


# Links, devices and pipes


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "file", tmp_path / "link"
    target.write_bytes(BEFORE)
    target.chmod(0o640)
    link.symlink_to("folder/file")
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "link"]
    with pytest.raises(RuntimeError, match="unplugged"):
        write_half(link)
    assert target.read_bytes() == b"new"
    assert list((tmp_path / "folder").iterdir()) == [target]


def test_a_link_to_nothing_yet_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match=r"^cannot write .*round: "):
        write(tmp_path / "round")


def test_a_device_stays_a_device() -> None:
    write(Path("/dev/null"), bytes(100_000))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write(pipe, bytes(200_000))
    reader.join()
    assert found == [bytes(200_000)]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_is_a_file_like_others(name: str, tmp_path: Path) -> None:
    """What was printed before comes first, whether it goes to a pipe or to a file."""
    code = """
        print("before")
        with writing(Path(sys.argv[1])) as file:
            file.write(b"new\\n")
        print("after")
    """
    with program(code, name) as running:
        assert running.communicate()[0] == b"before\nnew\nafter\n"
    text = "from pathlib import Path\nimport sys\nfrom murmurs.boundary.writing import writing\n"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run(
            [sys.executable, "-c", text + textwrap.dedent(code), name], stdout=out, check=True
        )
    assert (tmp_path / "out").read_bytes() == b"before\nnew\nafter\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_closed_standard_output_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    (tmp_path / "file").write_bytes(BEFORE)
    assert not is_standard_output(tmp_path / "file")
    with pytest.raises(OSError, match="cannot write to standard output: it is closed"):
        write(Path("-"))


def test_two_writers_do_not_mix_what_they_write(tmp_path: Path) -> None:
    """One of them is there at the end, whole."""
    path = tmp_path / "file"

    def slowly(data: bytes) -> None:
        with writing(path) as file:
            for _ in range(20):
                file.write(data * 1000)
                time.sleep(0.001)

    threads = [threading.Thread(target=slowly, args=(data,)) for data in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in (b"a" * 20_000, b"b" * 20_000)
    assert list(tmp_path.iterdir()) == [path]
