"""``murmurs encode``: turn answers, lines or a column of a file, into private reports.

An error about a line names its number and the rule, never its contents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np

from murmurs.boundary.texts import numbered
from murmurs.cli.columns import (
    Columns,
    Outputs,
    answers_in,
    by_question,
    check_options,
    column_options,
    each_question,
    for_each,
    refuse_bad,
)
from murmurs.cli.encode_table import Settings, Source, sources_of, told, write_private_table
from murmurs.cli.inputs import expanded, input_files
from murmurs.cli.output import (
    Command,
    as_json,
    chosen_question,
    existing_file,
    new_file,
    read_survey,
    say,
    seed_option,
    tell,
    tell_segments,
)
from murmurs.files.columns import MOST_ROWS, Chunk, format_of
from murmurs.files.reports import ReportWriter, writing_reports
from murmurs.files.segments import segment_name, segment_parts
from murmurs.files.tables import is_table
from murmurs.mechanisms.designs.design import Design
from murmurs.mechanisms.longitudinal.two_rounds import Longitudinal
from murmurs.questions.asked import Asked
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import ChanceInBulk
from murmurs.wire import Reports

_BYTES = 2**24


@click.command("encode", cls=Command)
@click.argument("survey", type=existing_file)
@click.argument("answers", type=input_files, nargs=-1, callback=expanded, metavar="ANSWERS...")
@click.option(
    "--question", "name", help="The question that is answered, if the survey has several."
)
@column_options
@click.option(
    "--missing",
    metavar="LABEL",
    multiple=True,
    help="The label that missing answers are given; NAME=LABEL if several questions are asked.",
)
@click.option("--drop-missing", is_flag=True, help="Leave missing answers out.")
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
@click.option("--labels", is_flag=True, help="For a table: write labels instead of codes.")
@click.option(
    "--keep",
    metavar="NAME",
    multiple=True,
    help="For a table: also copy this column as it is. It is not private.",
)
@click.option("--keep-order", is_flag=True, help="For a table: do not shuffle the rows.")
@click.option(
    "-o",
    "--output",
    type=new_file,
    required=True,
    help="The file to write: reports (.bin), or a table (.parquet, .csv, .tsv, .jsonl).",
)
@seed_option
@as_json
def command(
    survey: Path,
    answers: tuple[Path, ...],
    name: str | None,
    column: str | None,
    by: tuple[str, ...],
    file_format: Any,
    delimiter: str | None,
    no_header: bool,
    missing: tuple[str, ...],
    drop_missing: bool,
    unknown: tuple[str, ...],
    names: tuple[str, ...],
    labels: bool,
    keep: tuple[str, ...],
    keep_order: bool,
    output: Path,
    seed: int | None,
    as_json: bool,
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
    random = Secure() if seed is None else np.random.default_rng(seed)
    chosen = Columns(column, by, file_format, delimiter, no_header)
    if is_table(output):
        if by:
            raise ValueError(
                "--by writes files of reports: for a table, keep the column with --keep"
            )
        sources = sources_of(contract, names, name, column)
        settings = Settings(labels, keep, keep_order, contract.names)
        n = write_private_table(
            answers,
            output,
            sources,
            chosen,
            random,
            settings,
            missing=missing,
            unknown=unknown,
            drop_missing=drop_missing,
        )
        for source in sources:
            _note(source.asked)
        if seed is not None:
            say(
                "Note: whoever knows or guesses the seed can undo the noise and the order of the "
                "rows. For a table that leaves this computer, leave --seed out.",
                err=True,
            )
        _tell_table(output, sources, n, settings, as_json=as_json)
        return
    _check_output(output, names, keep, labels or keep_order)
    question = chosen_question(contract, name)
    columns = chosen.of(question)
    options = {
        "missing": for_each(question, "--missing", missing),
        "drop_missing": drop_missing,
        "unknown": for_each(question, "--unknown", unknown),
    }
    for single, own in each_question(question, options):
        check_options(single, own)
    outputs = Outputs(output, [survey, *answers], by)
    size = question.mechanism.shape.size
    writers: dict[Any, ReportWriter] = {}
    with ExitStack() as stack:
        if not by:
            writers[None] = stack.enter_context(writing_reports(output, contract, question))
        most = max(1, min(MOST_ROWS, _BYTES // size))
        for path in answers:
            is_text = columns.kind(path) == "text"
            for chunk in columns.chunks(path, most, is_value=_is_label(question)):
                for segment, part in chunk.by_segment(path):
                    key = segment_parts(segment) if by else None
                    if key not in writers:
                        own_path = outputs.path(key)
                        own_file = writing_reports(own_path, contract, question)
                        writers[key] = stack.enter_context(own_file)
                    reports = _encoded(path, part, question, random, options, is_text=is_text)
                    writers[key].put(reports)
    _note(question)
    document: dict[str, Any] = {"question": question.name, "reports": 0, "bytes": size}
    document["reports"] = sum(writer.n for writer in writers.values())
    many = f"{numbered(document['reports'], 'report')} of {numbered(size, 'byte')}"
    what = f"{many} to {question.name!r} written to"
    if not by:
        tell(what, output, document, as_json=as_json)
    else:
        numbers = {segment_name(segment): writer.n for segment, writer in writers.items()}
        tell_segments(what, output, numbers, document, as_json=as_json)


def _is_label(question: Asked) -> Callable[[str], bool] | None:
    """Return a test of whether a text is an answer rather than the name of a column."""
    if len(question.names) > 1 or question.is_open:
        return None
    [single] = question.questions
    return lambda text: single.place_of(text) is not None


def _check_output(output: Path, names: Sequence[str], keep: Sequence[str], other: bool) -> None:
    """Refuse a name that promises another format, and options of tables."""
    if format_of(output) != "text":
        raise ValueError(f"-o {output}: a table is written without .gz: leave that ending out")
    if names or keep or other:
        raise ValueError(
            "--columns, --labels, --keep and --keep-order are for a table: give -o a name that "
            "ends in .parquet, .csv, .tsv or .jsonl"
        )


def _note(question: Asked) -> None:
    """Say on standard error what somebody may take for something else."""
    if _keeps_responses(question):
        say(
            "Note: each answer got a new permanent response, which is not kept. For people who "
            "report again, use murmurs.Device: see docs/longitudinal.md.",
            err=True,
        )
    if any(isinstance(single.mechanism, Design) for single, _ in each_question(question, {})):
        say(
            "Note: the answers were randomised now. If people had randomised them already, on "
            "paper or by telephone, use murmurs count --reported instead.",
            err=True,
        )


def _tell_table(
    output: Path, sources: Sequence[Source], n: int, settings: Settings, *, as_json: bool
) -> None:
    """Say what was written, and what it costs."""
    what, lines, document = told(sources, n, settings)
    tell(what, output, document, as_json=as_json)
    if not as_json:
        for line in lines:
            say(line)


def _keeps_responses(question: Asked) -> bool:
    """Whether people who report again would need what this command does not keep."""
    mechanism: Any = question.mechanism
    return any(
        isinstance(part, Longitudinal) and math.isfinite(part.epsilon_permanent_realised)
        for part in getattr(mechanism, "parts", (mechanism,))
    )


def _encoded(
    path: Path,
    chunk: Chunk,
    asked: Asked,
    random: ChanceInBulk,
    options: dict[str, Any],
    *,
    is_text: bool,
) -> Reports:
    try:
        return asked.encode_many(asked.pick(by_question(asked, chunk)), random, **options)
    except (TypeError, ValueError, OverflowError):
        for answers, own in answers_in(path, chunk, asked, options, is_text=is_text):
            refuse_bad(answers, own)
        raise
