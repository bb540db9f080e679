"""What `murmurs count --engine` does: every question of a survey, counted where the data is."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click

from murmurs.boundary.texts import numbered
from murmurs.cli.clusters import (
    Cluster,
    cluster_options,
    engine_option,
    reaching,
    refuse,
    taken,
)
from murmurs.cli.options import Run, chosen_question, columns_named, new_file, together
from murmurs.cli.output import Form
from murmurs.cli.suggestions import Choice
from murmurs.counts import People
from murmurs.engines import Counted, Options
from murmurs.engines.job import Bad, plan
from murmurs.engines.sources import Found, find
from murmurs.engines.written import write, write_refused
from murmurs.files.outputs import refuse_overwriting
from murmurs.files.schema import DAY
from murmurs.files.selection import Columns
from murmurs.survey.survey import Survey


@dataclass(frozen=True)
class Engine:
    """The engine that was asked for, and what was said of its job."""

    cluster: Cluster
    columns: tuple[str, ...] = ()
    id: str | None = None
    bad: Bad | None = None
    refused: Path | None = None
    memory: str | None = None


def engine_options(run: Run) -> Run:
    """Add the options of engines; the command gets an ``engine``, None if none was asked for."""
    options = [
        engine_option("Count every question of", "REPORTS"),
        click.option(
            "--columns",
            "of_questions",
            metavar="A,B",
            multiple=True,
            help="The questions to count, or NAME=COLUMN; without it, all of the survey.",
        ),
        click.option(
            "--id",
            "id_column",
            metavar="COLUMN",
            help="A column of ids: of several rows with one id, the first counts.",
        ),
        click.option(
            "--bad",
            type=Choice(get_args(Bad)),
            help="What is done with a row that cannot be counted: stop (the default), or skip it.",
        ),
        click.option(
            "--refused",
            type=new_file,
            help="With --bad skip: a file (.jsonl) of where skipped rows are, and why.",
        ),
        click.option(
            "--memory",
            metavar="FOLDER",
            help="A folder that remembers what was counted: the next run counts new files only.",
        ),
        cluster_options("ids"),
    ]

    @functools.wraps(run)
    def with_engine(
        *args: Any, of_questions: tuple[str, ...], id_column: str | None, **given: Any
    ) -> Any:
        own = {name: given.pop(name) for name in ("bad", "refused", "memory")}
        own |= {"columns": of_questions, "id": id_column}
        cluster = taken(given)
        if cluster is None:
            refuse({f"--{name}": value for name, value in own.items()}, "needs --engine")
            return run(*args, engine=None, **given)
        return run(*args, engine=Engine(cluster, **own), **given)

    return together(*options)(with_engine)  # type: ignore[return-value]


def count_with_engine(
    engine: Engine,
    survey: Survey,
    sources: tuple[Path | str, ...],
    output: Path,
    form: Form,
    *,
    names: tuple[str, ...],
    columns: Columns,
    people: People | None,
    reported: bool,
    others: dict[str, Any],
) -> None:
    """Count all questions of the sources, write their counts, and say what was left out."""
    _check(engine, output, columns, people, others)
    options: Options = {
        "columns": _columns(engine, survey, names, columns),
        "by": columns.by,
        "id": engine.id,
        "reported": reported,
        "bad": engine.bad or "stop",
        "people": people,
        "memory": engine.memory,
    }
    with reaching():
        found = find([str(source) for source in sources])
        _check_found(found, survey, options, output, engine)
        counted = engine.cluster.run("count", "counting", found, survey, **options)
    write(counted, output)
    if engine.refused is not None:
        write_refused(counted, engine.refused)
    form.show(
        json=counted.to_document,
        text=lambda: _said(counted, output, remembers=engine.memory is not None),
    )


def _check(
    engine: Engine,
    output: Path,
    columns: Columns,
    people: People | None,
    others: dict[str, Any],
) -> None:
    """Refuse options that say nothing to an engine, before any work."""
    engine.cluster.check(columns, others)
    if engine.bad != "skip":
        refuse({"--refused": engine.refused}, "needs --bad skip: without it nothing is skipped")
    if people == "same":
        raise ValueError(
            "--people same is not for --engine: count each round by itself, with --by day, and "
            "murmurs estimate and trend take them for the same people if the survey says so"
        )
    if output.suffix.lower() not in (".parquet", ".pq"):
        raise ValueError(
            f"-o {output}: an engine writes the counts of all questions to a file that ends in "
            ".parquet"
        )


def _columns(
    engine: Engine, survey: Survey, names: tuple[str, ...], columns: Columns
) -> dict[str, str | None] | None:
    """Return the column of each question, None for one of its name; None for all questions."""
    column = columns.column if isinstance(columns.column, str) else None
    if engine.columns and (names or column is not None):
        raise ValueError("--columns names questions and columns: leave --question and --column out")
    if engine.columns:
        return columns_named(survey, engine.columns, "name each question once")
    if column is not None:
        if len(names) > 1:
            raise ValueError(
                "--column is for one question: for several, add --columns NAME=COLUMN for each"
            )
        return {chosen_question(survey, names[0] if names else None).name: column}
    return dict.fromkeys(survey.asked(name).name for name in names) or None


def _check_found(
    found: Found, survey: Survey, options: Options, output: Path, engine: Engine
) -> None:
    """Refuse what does not fit the files, before a cluster is asked for anything."""
    written = [path for path in (output, engine.refused) if path is not None]
    read = {part.name for part in found.parts}
    refuse_overwriting([Path(name) for name in sorted(read) if "://" not in name], written)
    by = options["by"]
    job = plan(
        survey,
        found,
        options["columns"],
        by,
        id=options["id"],
        reported=options["reported"],
        bad=options["bad"],
    )
    for asked in {
        asked.name: asked for part in found.parts for asked, _ in job.asked(part)
    }.values():
        if asked.mechanism.is_longitudinal and DAY not in by and options["people"] is None:
            raise ValueError(
                f"{asked.name!r} is asked repeatedly, and the same people may have reported "
                "several times: count the days apart, with --by day, or add --people different if "
                "nobody reported twice"
            )


def _said(counted: Counted, output: Path, *, remembers: bool) -> str:
    """Return what was counted, and what was left out."""
    new = numbered(counted.new, "new row" if remembers else "row")
    lines = [f"{new} counted; written to {output}"]
    numbers: dict[str, int] = counted.to_document()["reports"]
    lines += [f"  {name}: {numbered(n, 'report')}" for name, n in numbers.items()]
    if counted.by:
        lines.append(f"There are {numbered(len(counted.segments), 'segment')}.")
    return "\n".join([*lines, *counted.notes])
