"""Logs: one line for each problem, with its time, for people or for programs.

The collector logs its own troubles, and no request: no address, and nothing that a client sent.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Literal, TextIO


class TextLines(logging.Formatter):
    """A line with the time in UTC, the level, who says it, and what."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S"
        )


class JSONLines(TextLines):
    """The same as a JSON document in one line; a traceback is a field of it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        document = {
            "time": f"{self.formatTime(record, self.datefmt)}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return json.dumps(document, ensure_ascii=False)


def log_to_stderr(form: Literal["text", "json"], stream: TextIO | None = None) -> None:
    """Log warnings and errors in one form."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JSONLines() if form == "json" else TextLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
