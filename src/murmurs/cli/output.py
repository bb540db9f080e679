"""Printing: a result in the form that was asked for, sentences, and what was written where."""

from __future__ import annotations

import json as json_text
import math
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from murmurs.boundary.writing import STANDARD
from murmurs.cli.wording import in_options
from murmurs.files.inputs import with_numbers
from murmurs.files.segments import Segment, segment_name
from murmurs.present.layout import WIDTH, fold
from murmurs.present.text import UNPRINTABLE, printable


@dataclass(frozen=True)
class Form:
    """The form in which a result is printed: as text for people, or for programs.

    With ``err`` it is printed on standard error, because standard output has a file.
    """

    kind: str = "text"
    err: bool = False

    def show(
        self,
        *,
        json: Callable[[], Any],
        text: Callable[[], str | None],
        csv: Callable[[], str] | None = None,
        latex: Callable[[], str] | None = None,
        most: int | None = WIDTH,
    ) -> None:
        """Print a result in the form that was asked for; the others are not made."""
        if self.kind == "json":
            print_json(json(), err=self.err)
        elif self.kind == "csv" and csv is not None:
            print_csv(csv(), err=self.err)
        elif self.kind == "latex" and latex is not None:
            print_csv(f"{latex()}\n", err=self.err)
        elif (said := text()) is not None:
            say(said, err=self.err, most=most)

    def written(self, what: str, output: Path, document: Mapping[str, Any]) -> None:
        """Say what was written where."""
        place = "standard output" if output == STANDARD else output
        self.show(json=lambda: document, text=lambda: f"{what} {place}")

    def written_by_segment(
        self, what: str, output: Path, numbers: Mapping[Segment, int], document: Mapping[str, Any]
    ) -> None:
        """Say what was written for each segment, in order, and how many reports each has."""
        if list(numbers) == [()]:
            self.written(what, output, document)
            return
        named = {segment_name(segment): n for segment, n in numbers.items()}
        named = {name: named[name] for name in sorted(named, key=with_numbers)}
        many = f"{len(named)} files" if len(named) > 1 else "one file"
        place = output.with_name(f"{output.stem}-…{output.suffix}")
        each = "".join(f"\n  {name}: {n:,}" for name, n in named.items())
        self.show(
            json=lambda: {**document, "segments": named},
            text=lambda: f"{what} {many}, {place}{each}",
        )


def say(text: str, *, err: bool = False, most: int | None = WIDTH) -> None:
    """Print text for people, on lines of at most so many columns; None leaves lines whole.

    Control characters, and those that a terminal lacks, are replaced.
    """
    encoding = _encoding(err)
    safe = printable(text, keep="\n")
    safe = safe if most is None else fold(safe, most)
    click.echo(safe.encode(encoding, "replace").decode(encoding), err=err)


def note(text: str) -> None:
    """Print a note on standard error."""
    say(f"Note: {in_options(text)}", err=True)


def print_json(document: Any, *, err: bool = False) -> None:
    """Print a document; control characters are escaped, which means the same in JSON."""
    text = json_text.dumps(document, ensure_ascii=not _encoding(err).lower().startswith("utf"))
    click.echo(UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text), err=err)


def print_csv(text: str, *, err: bool = False) -> None:
    """Print lines for programs unchanged; on a terminal, control characters are written out."""
    shown_on = sys.stderr if err else sys.stdout
    click.echo(printable(text, keep="\n") if shown_on.isatty() else text, nl=False, err=err)


def rounded_up(epsilon: float) -> str:
    """Return an epsilon with four decimals, never below itself.

    >>> rounded_up(0.9999999999999998), rounded_up(1.00001), rounded_up(math.inf)
    ('1.0000', '1.0001', 'inf')
    """
    return "inf" if math.isinf(epsilon) else f"{math.ceil(Fraction(epsilon) * 10**4) / 10**4:.4f}"


def terminal_width() -> int:
    """Return the columns of the terminal, at least 80; 80 if the output is a file or a pipe."""
    return max(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


def _encoding(err: bool) -> str:
    return (sys.stderr if err else sys.stdout).encoding or "utf-8"
