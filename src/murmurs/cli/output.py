"""What commands share: their files, common options, and how they print."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import click

from murmurs.boundary.documents import document
from murmurs.boundary.reading import contents, named
from murmurs.boundary.writing import STANDARD, is_standard_output
from murmurs.present.text import UNPRINTABLE, printable
from murmurs.question import Question
from murmurs.survey import Survey

MOST_PEOPLE = 2**62


class FilePath(click.Path):
    """A path; "-" alone is standard input or output, and "./-" a file of that name."""

    def coerce_path_result(self, value: Any) -> Path:
        """Return the path, such that only a plain "-" equals STANDARD."""
        path = Path(os.fsdecode(value))
        return path.absolute() if path == STANDARD and os.fsdecode(value) != "-" else path


existing_file = FilePath(exists=True, dir_okay=False)
piped_file = FilePath(exists=True, dir_okay=False, allow_dash=True)
"""A file that is read once, from its beginning to its end; "-" is standard input."""
new_file = FilePath(dir_okay=False, writable=True, allow_dash=True)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
people_option = click.option(
    "--people",
    type=click.Choice(["other", "same"]),
    help="Whether each file is of other people, or all are of the same people.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Reproducible, and not private: for studies only."
)
level_option = click.option(
    "--level",
    type=click.FloatRange(0.5, 1 - 1e-9),
    default=0.95,
    show_default=True,
    help="Of the intervals, from 0.5 to below 1.",
)


class Command(click.Command):
    """A command that never writes over a file that it reads, by whatever name or link."""

    def invoke(self, ctx: click.Context) -> Any:
        """Compare the files of the command line, then run the command."""
        files: dict[bool, list[Path]] = {True: [], False: []}
        for parameter in self.params:
            if isinstance(parameter.type, click.Path):
                given = ctx.params[parameter.name or ""] or ()
                files[parameter.type is new_file] += [given] if isinstance(given, Path) else given
        for output in files[True]:
            for source in files[False]:
                if _same_file(source, output):
                    raise ValueError(
                        f"cannot write {output}: it is {named(source)}, which this command reads; "
                        "give the output another name"
                    )
        return super().invoke(ctx)


def _same_file(source: Path, output: Path) -> bool:
    """Whether two paths lead to one file that has contents to lose."""
    try:
        there = os.fstat(sys.stdout.fileno()) if output == STANDARD else output.stat()
        read = os.fstat(sys.stdin.fileno()) if source == STANDARD else source.stat()
    except (OSError, ValueError, AttributeError):  # nothing there yet, or no file behind it
        return False
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, read)


def read_survey(path: Path) -> Survey:
    """Return the survey in a file, published (JSON) or as people write it (TOML)."""
    data = contents(path)
    try:
        if path.suffix == ".toml":
            return Survey.from_toml(data)
        document(data)
        return Survey.from_json(data)
    except (ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"{path}: {error}") from None


def say(text: str, *, err: bool = False) -> None:
    """Print text for people; what controls a terminal, or is not in its alphabet, is replaced."""
    encoding = _encoding(err)
    safe = printable(text, keep="\n").encode(encoding, "replace")
    click.echo(safe.decode(encoding), err=err)


def print_json(document: Any, *, err: bool = False) -> None:
    """Print a document; what controls a terminal is escaped, which means the same in JSON."""
    text = json.dumps(document, ensure_ascii=not _encoding(err).lower().startswith("utf"))
    click.echo(UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text), err=err)


def _encoding(err: bool) -> str:
    return (sys.stderr if err else sys.stdout).encoding or "utf-8"


def print_csv(text: str) -> None:
    """Print lines for programs as they are; on a terminal what controls it is written out."""
    click.echo(printable(text, keep="\n") if sys.stdout.isatty() else text, nl=False)


def tell(what: str, output: Path, document: dict[str, Any], *, as_json: bool = False) -> None:
    """Say what was written where; on standard error, if standard output has what was written."""
    beside = is_standard_output(output)
    if as_json:
        print_json(document, err=beside)
    else:
        say(f"{what} {'standard output' if output == STANDARD else output}", err=beside)


def chosen_question(survey: Survey, name: str | None) -> Question:
    """Return the question of that name, or the only one."""
    if name is not None:
        return survey.question(name)
    if len(survey.questions) > 1:
        names = ", ".join(question.name for question in survey.questions)
        raise ValueError(
            f"survey {survey.name!r} has several questions: add --question, one of {names}"
        )
    return survey.questions[0]
