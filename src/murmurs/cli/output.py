"""What the commands share: types of files, common options, and printing."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import stat
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from murmurs.boundary.documents import document
from murmurs.boundary.reading import contents, named
from murmurs.boundary.writing import STANDARD, is_standard_output
from murmurs.cli.suggestions import Choice
from murmurs.files.headers import is_header_of_reports
from murmurs.present.layout import WIDTH, fold
from murmurs.present.text import UNPRINTABLE, printable
from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey

MOST_PEOPLE = 2**62


class FilePath(click.Path):
    """A path; "-" is standard input or output, and "./-" is a file of that name."""

    def coerce_path_result(self, value: Any) -> Path:
        """Return the path; only a plain "-" equals STANDARD."""
        path = Path(os.fsdecode(value))
        return path.absolute() if path == STANDARD and os.fsdecode(value) != "-" else path


existing_file = FilePath(exists=True, dir_okay=False)
piped_file = FilePath(exists=True, dir_okay=False, allow_dash=True)
"""A file that is read once, from its beginning to its end; "-" is standard input."""
new_file = FilePath(dir_okay=False, writable=True, allow_dash=True)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
as_csv = click.option("--csv", "as_csv", is_flag=True, help="Print CSV for programs.")
target_option = click.option(
    "--target",
    type=Choice(["respondents", "population"]),
    default="population",
    show_default=True,
    help="Whose shares: those of the respondents, or of the population they were sampled from.",
)
candidates_option = click.option(
    "--candidates",
    type=existing_file,
    help="For an open question: a file of the strings to look for, one per line.",
)
complete_option = click.option(
    "--complete",
    is_flag=True,
    help="The list of candidates is complete: nobody holds another string.",
)
people_option = click.option(
    "--people",
    type=Choice(["different", "same"]),
    help="Whether the files come from different people, or all from the same people with the same "
    "permanent responses.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Seed for a reproducible result, which is not private: for studies only.",
)
simulation_seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Seed for a reproducible result."
)
asked_option = click.option(
    "--question", "asked", help="The question to read from a counts.parquet that has several."
)
level_option = click.option(
    "--level",
    type=click.FloatRange(0.5, 1 - 1e-9),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals, from 0.5 to below 1.",
)


OTHER_WORDS = {
    "--confidence": "--level",
    "--estimator": "--method",
    "--people": "--respondents",
    "--sep": "--delimiter",
}
"""Options as other programs call them."""


class Command(click.Command):
    """A command that never overwrites a file that it reads, whatever its name or link."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; an option with another program's name is answered with ours."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            ours = OTHER_WORDS.get(error.option_name)
            if not any(ours in parameter.opts for parameter in self.params):
                raise
            said = f"No such option {error.option_name!r}. Did you mean {ours!r}?"
            raise click.UsageError(said, ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Check that no output is also an input, then run the command."""
        files: dict[bool, list[Path]] = {True: [], False: []}
        for parameter in self.params:
            if isinstance(parameter.type, click.Path):
                given = ctx.params[parameter.name or ""] or ()
                files[parameter.type is new_file] += [given] if isinstance(given, Path) else given
        refuse_overwriting(files[False], files[True])
        return super().invoke(ctx)


def refuse_overwriting(sources: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Refuse an output that is also a source, whatever its name or link."""
    for output in outputs:
        for source in sources:
            if same_file(source, output):
                raise ValueError(
                    f"cannot write {output}: it is {named(source)}, which this command reads; "
                    "give the output another name"
                )


def same_file(source: Path, output: Path) -> bool:
    """Return whether two paths lead to the same file, with contents to lose."""
    try:
        there = os.fstat(sys.stdout.fileno()) if output == STANDARD else output.stat()
        read = os.fstat(sys.stdin.fileno()) if source == STANDARD else source.stat()
    except (OSError, ValueError, AttributeError):  # no such file yet, or a stream without a file
        return False
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, read)


def one_form(as_csv: bool, as_json: bool) -> None:
    """Refuse to print the same in two ways."""
    if as_csv and as_json:
        raise click.UsageError("--csv and --json print the same in two ways: give one of them")


def read_survey(path: Path) -> Survey:
    """Return the survey in a file: published (JSON) or written by hand (TOML)."""
    data = contents(path)
    if is_header_of_reports(data):
        raise ValueError(
            f"{path} is a file of reports, not a survey: in `murmurs count` the survey comes first"
        )
    try:
        if path.suffix == ".toml":
            return Survey.from_toml(data)
        document(data)
        return Survey.from_json(data)
    except (ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"{path}: {error}") from None


def say(text: str, *, err: bool = False, most: int | None = WIDTH) -> None:
    """Print text for people, on lines of at most so many columns; None leaves lines whole.

    Control characters, and those that a terminal lacks, are replaced.
    """
    encoding = _encoding(err)
    safe = printable(text, keep="\n")
    safe = safe if most is None else fold(safe, most)
    click.echo(safe.encode(encoding, "replace").decode(encoding), err=err)


def print_json(document: Any, *, err: bool = False) -> None:
    """Print a document; control characters are escaped, which means the same in JSON."""
    text = json.dumps(document, ensure_ascii=not _encoding(err).lower().startswith("utf"))
    click.echo(UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text), err=err)


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


def print_csv(text: str, *, err: bool = False) -> None:
    """Print lines for programs unchanged; on a terminal, control characters are written out."""
    shown_on = sys.stderr if err else sys.stdout
    click.echo(printable(text, keep="\n") if shown_on.isatty() else text, nl=False, err=err)


def tell(what: str, output: Path, document: dict[str, Any], *, as_json: bool = False) -> None:
    """Say what was written where; on standard error if the output is standard output."""
    beside = is_standard_output(output)
    if as_json:
        print_json(document, err=beside)
    else:
        say(f"{what} {'standard output' if output == STANDARD else output}", err=beside)


def tell_segments(
    what: str,
    output: Path,
    numbers: dict[str, int],
    document: dict[str, Any],
    *,
    as_json: bool = False,
) -> None:
    """Say what was written for each segment, in order, and how many reports each has."""
    numbers = {name: numbers[name] for name in sorted(numbers, key=with_numbers)}
    if as_json:
        print_json({**document, "segments": numbers})
        return
    many = f"{len(numbers)} files" if len(numbers) > 1 else "one file"
    say(f"{what} {many}, {output.with_name(f'{output.stem}-…{output.suffix}')}")
    for name, n in numbers.items():
        say(f"  {name}: {n:,}")


def with_numbers(name: str) -> list[Any]:
    """Return what to sort a name by: its texts, and its numbers as numbers (9 before 10)."""
    parts: list[Any] = re.split(r"([0-9]+)", name)
    return [int(part) if place % 2 else part.casefold() for place, part in enumerate(parts)]


def chosen_question(survey: Survey, name: str | None) -> Asked:
    """Return the question or joint of that name, or without a name the only one there is."""
    if name is not None:
        return survey.asked(name)
    if len(survey.joints) == 1 and len(survey.joints[0].questions) == len(survey.questions):
        return survey.joints[0]
    if len(survey.questions) > 1:
        names = ", ".join(survey.names)
        raise ValueError(
            f"survey {survey.name!r} has several questions: add --question, one of {names}"
        )
    return survey.questions[0]
