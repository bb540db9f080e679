"""A file system whose files wait, fail or end their worker, so that tests know when they do."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from pyarrow.fs import FileSystemHandler, LocalFileSystem, PyFileSystem

LONGEST = 60
"""Seconds after which a file waits no longer."""


class _Local(FileSystemHandler):  # type: ignore[misc]
    """The files of this machine."""

    def get_type_name(self) -> str:
        return "gated"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return LocalFileSystem().get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        return LocalFileSystem().get_file_info(selector)

    def open_input_stream(self, path: str) -> Any:
        return LocalFileSystem().open_input_stream(path)

    def _refuse(self, *_: Any) -> Any:
        raise NotImplementedError

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


class Gates(_Local):
    """On workers, a file called "slow" opens when the gate does; "failing" and "deadly" never do.

    ``folder`` is where workers say that they have begun, and where the gate is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.at_home = str(folder), os.getpid()

    def open_input_file(self, path: str) -> Any:
        if os.getpid() != self.at_home:
            name = Path(path).stem
            if "slow" in name:
                self._wait(name)
            elif "failing" in name:
                raise RuntimeError("the disk is on fire")
            elif "deadly" in name:
                os.kill(os.getpid(), signal.SIGKILL)
        return LocalFileSystem().open_input_file(path)

    def _wait(self, name: str) -> None:
        folder, parent, end = Path(self.folder), os.getppid(), time.monotonic() + LONGEST
        (folder / f"begun-{name}-{os.getpid()}").touch()
        while not (folder / "open").exists() and time.monotonic() < end:
            if os.getppid() != parent:
                os._exit(1)  # nobody waits for this any more
            time.sleep(0.02)

    def begun(self) -> int:
        """Wait until a worker has begun with a slow file; return its process."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            for mark in Path(self.folder).glob("begun-*"):
                return int(mark.name.rpartition("-")[2])
            time.sleep(0.02)
        raise TimeoutError("no worker has begun")

    def open(self) -> None:
        """Let workers go on."""
        (Path(self.folder) / "open").touch()

    @property
    def filesystem(self) -> Any:
        """The file system that a job is given."""
        return PyFileSystem(self)
