"""Where the parts of an output go: one file, or one for each segment, and none that is read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmurs.boundary.reading import named
from murmurs.boundary.writing import STANDARD
from murmurs.files.segments import Segments


class Outputs:
    """The files of an output, of which none is read as well."""

    def __init__(self, output: Path, sources: Sequence[Path], *, split: bool) -> None:
        self._output, self._sources = output, sources
        self._segments = Segments(output) if split else None

    def path(self, segment: Any) -> Path:
        """Return the file of a segment; none that is read is overwritten."""
        path = self._output if self._segments is None else self._segments.path(segment)
        refuse_overwriting(self._sources, [path])
        return path


def refuse_overwriting(sources: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Refuse an output that is also a source, whatever its name or link."""
    for output in outputs:
        for source in sources:
            if same_file(source, output):
                raise ValueError(
                    f"cannot write {output}: it is {named(source)}, which is read too; give the "
                    "output another name"
                )


def same_file(source: Path, output: Path) -> bool:
    """Return whether two paths lead to the same file, with contents to lose."""
    try:
        there = os.fstat(sys.stdout.fileno()) if output == STANDARD else output.stat()
        read = os.fstat(sys.stdin.fileno()) if source == STANDARD else source.stat()
    except (OSError, ValueError, AttributeError):  # no such file yet, or a stream without a file
        return False
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, read)
