"""Options that several commands have, each declared once, and types of files."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from murmurs.boundary.texts import listed
from murmurs.boundary.writing import STANDARD, is_standard_output
from murmurs.cli.output import Form
from murmurs.cli.pictures import check_plot
from murmurs.cli.suggestions import Choice
from murmurs.files.columns import FORMATS
from murmurs.files.inputs import find_files
from murmurs.files.outputs import refuse_overwriting
from murmurs.files.selection import Columns
from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey

Run = TypeVar("Run", bound=Callable[..., Any])

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://")


class FilePath(click.Path):
    """A path; "-" is standard input or output, and "./-" is a file of that name."""

    def coerce_path_result(self, value: Any) -> Path:
        """Return the path; only a plain "-" equals STANDARD."""
        path = Path(os.fsdecode(value))
        return path.absolute() if path == STANDARD and os.fsdecode(value) != "-" else path


class SourcePath(FilePath):
    """A path, or an address such as s3://bucket/day, which is no path and stays text."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path or the address."""
        if isinstance(value, str) and _ADDRESS.match(value):
            return value
        return super().convert(value, param, ctx)


existing_file = FilePath(exists=True, dir_okay=False)
piped_file = FilePath(exists=True, dir_okay=False, allow_dash=True)
"""A file that is read once, from its beginning to its end; "-" is standard input."""
new_file = FilePath(dir_okay=False, writable=True, allow_dash=True)
new_place = SourcePath(dir_okay=False, writable=True, allow_dash=True)
"""A file that is written or, with --engine, a folder that is made, which may be an address."""

OTHER_WORDS = {
    "--confidence": "--level",
    "--method": "--estimator",
    "--out": "--output",
    "--people": "--respondents",
    "--sep": "--delimiter",
}
"""Options as other programs call them."""


class Command(click.Command):
    """A command that never overwrites a file that it reads, whatever its name or link."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; an unknown option is answered with ours, or the nearest one."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [word for parameter in self.params for word in parameter.opts]
            ours = OTHER_WORDS.get(error.option_name)
            ours = ours if ours in known else next(iter(error.possibilities or ()), None)
            if ours is None:
                raise
            said = f"No such option {error.option_name!r}. Did you mean {ours!r}?"
            raise click.UsageError(said, ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Check that no output is also an input, then run the command."""
        refuse_overwriting(list(_files(ctx, written=False)), list(_files(ctx, written=True)))
        return super().invoke(ctx)


def _files(ctx: click.Context, *, written: bool) -> Iterator[Path]:
    """Return the files that a command writes, or those that it reads."""
    for parameter in ctx.command.params:
        is_output = parameter.type in (new_file, new_place)
        if isinstance(parameter.type, click.Path) and is_output == written:
            given = ctx.params[parameter.name or ""] or ()
            several = [given] if isinstance(given, Path) else given
            yield from (path for path in several if isinstance(path, Path))


def together(*options: Callable[[Run], Run]) -> Callable[[Run], Run]:
    """Return several options as one decorator."""

    def added(run: Run) -> Run:
        for option in reversed(options):
            run = option(run)
        return run

    return added


def flag(name: str, text: str) -> Callable[[Run], Run]:
    """Return an option without a value."""
    return click.option(name, is_flag=True, help=text)


_FORMS = {
    "csv": "Print CSV for programs.",
    "latex": "Print a LaTeX table, for a paper.",
    "json": "Print JSON for programs.",
}


def printed(*kinds: str, plot: bool = False) -> Callable[[Run], Run]:
    """Return the options of how a result is printed; the command gets a ``form``.

    With ``plot``, it gets the file of a plot too, which was checked before any work.
    """
    options = [
        click.option(f"--{kind}", f"as_{kind}", is_flag=True, help=_FORMS[kind]) for kind in kinds
    ]
    if plot:
        options.insert(-1, plot_option)

    def added(run: Run) -> Run:
        @functools.wraps(run)
        def formed(*args: Any, **given: Any) -> Any:
            asked = [kind for kind in kinds if given.pop(f"as_{kind}")]
            if len(asked) > 1:
                *first, last = (f"--{kind}" for kind in kinds)
                raise click.UsageError(
                    f"{', '.join(first)} and {last} print the same in different forms: "
                    "give one of them"
                )
            context = click.get_current_context()
            err = any(map(is_standard_output, _files(context, written=True)))
            return run(*args, form=Form([*asked, "text"][0], err), **given)

        return together(*options)(formed)  # type: ignore[return-value]

    return added


def _checked(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    if value is not None:
        check_plot(value)
    return value


plot_option = click.option(
    "--plot", type=new_file, callback=_checked, help="Save a plot to a file (.png, .svg, .pdf)."
)
as_json = printed("json")


def output(text: str, *, required: bool = True) -> Callable[[Run], Run]:
    """Return the option of the file that is written."""
    return click.option("-o", "--output", type=new_file, required=required, help=text)


counts_output = output("The file of counts to write.")
level_option = click.option(
    "--level",
    type=click.FloatRange(0.5, 1 - 1e-9),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals, from 0.5 to below 1.",
)
target_option = click.option(
    "--target",
    type=Choice(["respondents", "population"]),
    default="population",
    show_default=True,
    help="Whose shares: those of the respondents, or of the population they were sampled from.",
)
shares = together(level_option, target_option)
"""How shares are shown: --level and --target."""
candidates = together(
    click.option(
        "--candidates",
        type=existing_file,
        help="For an open question: a file of the strings to look for, one per line.",
    ),
    complete := flag(
        "--complete", "The list of candidates is complete: nobody holds another string."
    ),
)
people_option = click.option(
    "--people",
    type=Choice(["different", "same"]),
    help="Whether the files come from different people, or all from the same people with the same "
    "permanent responses.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Seed for a reproducible result."
)
asked_option = click.option(
    "--question", "asked", help="The question to read from a counts.parquet that has several."
)
survey_option = click.option(
    "--survey", type=existing_file, help="Check that the counts belong to this survey."
)
name_option = click.option("--question", "name", help="The question, if the survey has several.")
control_option = click.option(
    "--control",
    type=Choice(["bonferroni", "fdr"]),
    default="bonferroni",
    show_default=True,
    help="Bound the chance of any false detection, or the fraction of false detections (fdr).",
)
epsilon_help = "Epsilon of one report, which bounds its privacy loss."


def respondents(text: str, least: int = 1, most: int = 2**62, **more: Any) -> Callable[[Run], Run]:
    """Return the option of a number of people."""
    kind = click.IntRange(least, most)
    return click.option("--respondents", type=kind, help=text, **more)


def _expanded(
    ctx: click.Context, param: click.Parameter, value: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Return the files that are meant; each is there, and the files of a folder are in order."""
    try:
        return find_files(*value)
    except FileNotFoundError as error:
        raise click.BadParameter(str(error), ctx, param) from None


def input_files(name: str, **more: Any) -> Callable[[Run], Run]:
    """Return the argument for files, folders and patterns such as 'day*.bin'."""
    return click.argument(
        name, type=FilePath(allow_dash=True), nargs=-1, callback=_expanded, **more
    )


def _expanded_here(
    ctx: click.Context, param: click.Parameter, value: tuple[Path | str, ...]
) -> tuple[Path | str, ...]:
    """Return the files that are meant; with --engine, sources as they were given."""
    if ctx.params.get("named_engine") is not None:
        if STANDARD in value:
            raise click.BadParameter(
                "an engine reads files and folders, not standard input.", ctx, param
            )
        return value
    for one in value:
        if isinstance(one, str):
            raise click.BadParameter(
                f"{one.partition('?')[0]!r} is an address: add --engine.", ctx, param
            )
    return _expanded(ctx, param, tuple(path for path in value if isinstance(path, Path)))


def input_sources(name: str, **more: Any) -> Callable[[Run], Run]:
    """Return the argument for the same, and for addresses that an engine reads."""
    return click.argument(
        name, type=SourcePath(allow_dash=True), nargs=-1, callback=_expanded_here, **more
    )


COLUMN = "The column to read: its name, or its number from 1."
BY = (
    "A second column: one file is written for each of its values. Give it several times for one "
    "file for each combination."
)


def column_options(column: str = COLUMN, by: str | None = BY) -> Callable[[Run], Run]:
    """Return the options of which columns are read, and how; the command gets ``columns``."""
    options = [
        click.option("--column", help=column),
        *([] if by is None else [click.option("--by", multiple=True, help=by)]),
        click.option(
            "--format",
            "file_format",
            type=Choice(FORMATS),
            help="The format of the file [default: from the file name].",
        ),
        click.option("--delimiter", help="CSV delimiter [default: ,]."),
        flag("--no-header", "The CSV file has no header row."),
    ]

    def added(run: Run) -> Run:
        @functools.wraps(run)
        def read(
            *args: Any,
            column: str | None,
            file_format: Any,
            delimiter: str | None,
            no_header: bool,
            by: tuple[str, ...] = (),
            **given: Any,
        ) -> Any:
            columns = Columns(column, by, file_format, delimiter, not no_header)
            return run(*args, columns=columns, **given)

        return together(*options)(read)  # type: ignore[return-value]

    return added


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


def columns_named(survey: Survey, given: tuple[str, ...], rule: str) -> dict[str, str | None]:
    """Return the column of each question that an option names, None for one of its name.

    ``given`` are questions, with commas between them, as NAME or NAME=COLUMN.
    """
    known = {*survey.names, *(joint.name for joint in survey.joints)}
    texts = [
        text.strip() for part in given for text in ([part] if part in known else part.split(","))
    ]
    found: dict[str, str | None] = {}
    for text in texts:
        own, _, other = (text, "", "") if text in known else text.partition("=")
        asked = survey.asked(own).name
        if asked in found:
            raise ValueError(f"--columns has {asked!r} twice: {rule}")
        found[asked] = other or None
    return found


def by_name(names: Sequence[str], option: str, given: tuple[str, ...], rule: str) -> dict[str, str]:
    """Return what an option gives, as NAME=TEXT, for some of the questions."""
    found: dict[str, str] = {}
    for text in given:
        name = next((n for n in names if text.startswith(f"{n}=")), None)
        if name is None or name in found:
            raise ValueError(f"{option} {text}: {rule}")
        found[name] = text.removeprefix(f"{name}=")
    return found


def for_each(asked: Asked, option: str, given: tuple[str, ...]) -> Any:
    """Return what an option gives: a label or, for a joint, a label for each question it names.

    For one question it is given once, as LABEL; for a joint as NAME=LABEL, once for each question.
    """
    if not given:
        return None
    if not asked.is_joint:
        if len(given) > 1:
            raise ValueError(f"{option} is given twice: {asked.name!r} takes one")
        return given[0]
    rule = (
        f"for several questions give it as NAME=LABEL, once for each of {listed(asked.names)} that "
        "needs it"
    )
    return by_name(asked.names, option, given, rule)
