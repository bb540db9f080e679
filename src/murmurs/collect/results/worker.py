"""Worker: a process of its own that computes results which take long, one after another.

Tasks go to its standard input and messages come from its standard output, as pickles. Both ends
are this program. It runs at low priority, so that submissions are taken meanwhile.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO

from murmurs.collect.results.compute import Result, Task, compute, packed

NICE = 10


class WorkerGoneError(RuntimeError):
    """The worker ended before it had an answer: it was stopped, or there was too little memory."""


class Worker:
    """The other end of a worker process, which is started when there is a task."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._starting = threading.Lock()

    def run(
        self,
        task: Task,
        progress: Callable[[float], None],
        stopped: Callable[[], bool] = lambda: False,
    ) -> Result:
        """Return the result of a task, or raise the error that the library gives.

        A task that takes longer than allowed is given up, and its process is ended; so is one that
        is ``stopped`` before it begins.
        """
        with self._starting:
            if stopped():
                raise WorkerGoneError("the computation was given up before it began")
            process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(self._seconds, process.kill)
        timer.start()
        try:
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            while True:
                kind, value = pickle.load(process.stdout)
                if kind == "progress":
                    progress(value)
                elif kind == "result":
                    return _checked(value)
                else:
                    raise ValueError(value)
        except (EOFError, OSError, pickle.UnpicklingError):
            self.close()
            raise WorkerGoneError(
                f"the computation was given up: it took more than {self._seconds:g} seconds, or "
                "there was not enough memory"
            ) from None
        finally:
            timer.cancel()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._ended or self._process.poll() is not None:
            self.close()
            self._ended = False
            self._process = subprocess.Popen(
                # -P: files in the folder are no modules
                [sys.executable, "-P", "-m", "murmurs.collect.results.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return self._process

    def stop(self) -> None:
        """End the process from another thread: a task under way is given up."""
        with self._starting:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """End the process; calling it twice is fine."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except OSError:  # what was written last is lost with the process
                continue
        process.wait()


def _checked(value: object) -> Result:
    assert isinstance(value, Result)
    return value


def work(source: BinaryIO, target: BinaryIO) -> None:
    """Answer tasks until there are no more."""

    def tell(kind: str, value: object) -> None:
        pickle.dump((kind, value), target)
        target.flush()

    while True:
        try:
            task = pickle.load(source)
        except EOFError:
            return
        try:
            result = packed(compute(task, lambda done: tell("progress", done)))
        except (ValueError, TypeError, ArithmeticError, ImportError, MemoryError) as error:
            tell("error", str(error))
        else:
            tell("result", result)


def main() -> None:
    """Work on standard input and output; whatever else is printed goes to standard error."""
    os.nice(NICE)
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    work(source, target)


if __name__ == "__main__":
    main()
