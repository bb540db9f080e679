"""``murmurs encode``: turn answers, lines or columns of a file, into private reports or a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
import numpy as np

from murmurs.boundary.texts import listed, numbered
from murmurs.cli.encoding import Engine, encode_with_engine, engine_options
from murmurs.cli.options import (
    Command,
    as_json,
    by_name,
    chosen_question,
    column_options,
    columns_named,
    existing_file,
    flag,
    for_each,
    input_sources,
    name_option,
    new_place,
)
from murmurs.cli.output import Form, note, say
from murmurs.cli.wording import in_options
from murmurs.files.answers import each_question
from murmurs.files.columns import format_of
from murmurs.files.encoding import encode_file
from murmurs.files.private_table import encode_table, sources_of
from murmurs.files.selection import Columns
from murmurs.files.surveys import read_survey
from murmurs.files.tables import is_table
from murmurs.mechanisms.designs.design import Design
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.questions.asked import Asked
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import ChanceInBulk
from murmurs.survey.survey import Survey

_OTHERS = (".xlsx", ".xls", ".ods", ".json", ".feather", ".arrow", ".orc", ".avro", ".zip", ".gz")
"""Endings of other formats, for which a file of reports would be mistaken."""


@click.command("encode", cls=Command)
@click.argument("survey", type=existing_file)
@input_sources("answers", metavar="ANSWERS...")
@engine_options
@name_option
@column_options()
@click.option(
    "--missing",
    metavar="LABEL",
    multiple=True,
    help="The label that missing answers are given; NAME=LABEL if several questions are asked.",
)
@flag("--drop-missing", "Leave missing answers out.")
@click.option(
    "--unknown",
    metavar="LABEL",
    multiple=True,
    help="The label for answers that are not labels; NAME=LABEL if several questions are asked.",
)
@click.option(
    "--columns",
    "names",
    metavar="A,B",
    multiple=True,
    help="For a table: the questions to encode, or NAME=COLUMN; without it, all of the survey.",
)
@flag("--labels", "For a table: write labels instead of codes.")
@click.option(
    "--keep",
    metavar="NAME",
    multiple=True,
    help="For a table: also copy this column as it is. It is not private.",
)
@flag("--keep-order", "For a table: do not shuffle the rows.")
@click.option(
    "-o",
    "--output",
    type=new_place,
    required=True,
    help="The file to write: reports (.bin), or a table (.parquet, .csv, .tsv, .jsonl). With "
    "--engine: a new folder.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Seed for a reproducible result, which is not private: for studies only.",
)
@as_json
def command(
    survey: Path,
    answers: tuple[Any, ...],
    engine: Engine | None,
    name: str | None,
    columns: Columns,
    missing: tuple[str, ...],
    drop_missing: bool,
    unknown: tuple[str, ...],
    names: tuple[str, ...],
    output: Path | str,
    seed: int | None,
    form: Form,
    **of_table: Any,
) -> None:
    """Encode ANSWERS as reports to SURVEY.

    ANSWERS is a file with one label per line (- for standard input), or a CSV, TSV, Parquet or
    JSON lines file, of which --column is read. Several files are read one after another; a folder
    stands for all files in it, 'day*.csv' for all that match. One that ends in .gz is unpacked. If
    SURVEY asks several questions together ([[joint]]), the columns with their names are read, and
    each row becomes one report; with --drop-missing, rows with any missing answer are left out.

    For an open question, any line that is not empty is an answer. For a longitudinal mechanism,
    each run draws new permanent responses: people who report again need murmurs.Device.

    With --by REGION and -o reports.bin, the reports of each region are written to a file of their
    own, such as reports-north.bin. Segments are not private. For several columns give --by again:
    --by WEEK --by REGION writes reports-40-north.bin. Do not encode the same answers once for each
    column: every report about an answer costs its epsilon again.

    With -o private.parquet (or .csv, .tsv, .jsonl), a table is written: a column of private codes,
    or with --labels of labels, for each of the questions that --columns names. Its rows are
    shuffled, and no other column is in it, unless --keep-order and --keep ask for these.

    With --engine, --key ID and -o FOLDER, columns of Parquet or Arrow files of any size are encoded
    to a folder of such tables, with the same report for a row whenever and wherever it is encoded.

    \b
    Example:
      murmurs encode coffee.json answers.txt -o reports.bin
    """
    if not answers:
        raise click.UsageError(
            "there are no ANSWERS: give the survey first, which says how to randomise them, and "
            f"then the files, as in murmurs encode survey.json {survey} -o {output}"
        )
    contract = read_survey(survey)
    if engine is None and isinstance(output, str):
        raise ValueError(f"-o {output.partition('?')[0]} is an address: add --engine")
    random: ChanceInBulk = Secure() if seed is None else np.random.default_rng(seed)
    if engine is not None or is_table(Path(output)):
        wanted = _columns_of(contract, names, name, columns)
        sources = sources_of(contract, wanted)
        known = tuple(question.name for source in sources for question in source.questions)
        labels: dict[str, Any] = {
            "missing": _labels(known, "--missing", missing),
            "unknown": _labels(known, "--unknown", unknown),
            "drop_missing": drop_missing,
        }
        if engine is not None:
            keep, others = of_table.pop("keep"), {"--seed": seed is not None}
            others |= {f"--{option.replace('_', '-')}": own for option, own in of_table.items()}
            encode_with_engine(
                engine,
                contract,
                answers,
                output,
                form,
                columns=columns,
                asked=wanted,
                keep=keep,
                others=others,
                **labels,
            )
            for source in sources:
                _note(source.asked)
            return
        output = Path(output)
        table = encode_table(
            answers,
            output,
            contract,
            wanted,
            random=random,
            **labels,
            **of_table,
            **columns.reading,
        )
        for source in sources:
            _note(source.asked)
        if seed is not None:
            note(
                "whoever knows or guesses the seed can undo the noise and the order of the "
                "rows. For a table that leaves this computer, leave --seed out."
            )
        form.written(f"{table} written to", output, table.to_document())
        if form.kind == "text":
            say(in_options("\n".join(table.notes)))
        return
    output = Path(output)
    _check_output(output, any([names, *of_table.values()]))
    question = chosen_question(contract, name)
    numbers = encode_file(
        answers,
        output,
        contract,
        question,
        columns.column if isinstance(columns.column, str) else None,
        by=columns.by,
        missing=for_each(question, "--missing", missing),
        drop_missing=drop_missing,
        unknown=for_each(question, "--unknown", unknown),
        random=random,
        protected=[survey],
        **columns.reading,
    )
    _note(question)
    size, n = question.mechanism.shape.size, sum(numbers.values())
    document = {"question": question.name, "reports": n, "bytes": size}
    many = f"{numbered(n, 'report')} of {numbered(size, 'byte')}"
    form.written_by_segment(f"{many} to {question.name!r} written to", output, numbers, document)


def _check_output(output: Path, for_table: bool) -> None:
    """Refuse a name that promises another format, and options of tables."""
    if format_of(output) != "text":
        raise ValueError(f"-o {output}: a table is written without .gz: leave that ending out")
    if output.suffix.lower() in _OTHERS:
        raise ValueError(
            f"-o {output}: {output.suffix} is not written here: give a name for reports (.bin), or "
            "for a table (.parquet, .csv, .tsv, .jsonl)"
        )
    if for_table:
        raise ValueError(
            "--columns, --labels, --keep and --keep-order are for a table: give -o a name that "
            "ends in .parquet, .csv, .tsv or .jsonl"
        )


def _columns_of(
    survey: Survey, given: tuple[str, ...], name: str | None, columns: Columns
) -> dict[str, str | None] | None:
    """Return the column of each question of a table, None for one of its name; None for all.

    ``given`` are questions, with commas between them, as NAME or NAME=COLUMN. Without them it is
    the question ``name`` with its column, or everything that the survey asks.
    """
    column = columns.column if isinstance(columns.column, str) else None
    if columns.by:
        raise ValueError("--by writes files of reports: for a table, keep the column with --keep")
    if given and (name is not None or column is not None):
        raise ValueError("--columns names questions and columns: leave --question and --column out")
    if not given and (name is not None or column is not None):
        return {chosen_question(survey, name).name: column}
    if not given:
        return None
    return columns_named(survey, given, "each report about it costs again")


def _labels(names: tuple[str, ...], option: str, given: tuple[str, ...]) -> dict[str, str]:
    """Return the label for each question that an option names."""
    if len(names) == 1 and len(given) == 1 and not given[0].startswith(f"{names[0]}="):
        return {names[0]: given[0]}
    return by_name(names, option, given, f"give it as NAME=LABEL, once for each of {listed(names)}")


def _note(question: Asked) -> None:
    """Say on standard error what somebody may take for something else."""
    mechanism: Any = question.mechanism
    parts = getattr(mechanism, "parts", (mechanism,))
    if any(
        isinstance(part, Longitudinal) and math.isfinite(part.epsilon_permanent_realised)
        for part in parts
    ):
        note(
            "each answer got a new permanent response, which is not kept. For people who "
            "report again, use murmurs.Device: see docs/longitudinal.md."
        )
    if any(isinstance(single.mechanism, Design) for single, _ in each_question(question, {})):
        note(
            "the answers were randomised now. If people had randomised them already, on "
            "paper or by telephone, use murmurs count --reported instead."
        )
