"""``murmurs encode``: turn answers, lines or a column of a file, into private reports.

An error about a line names its number and the rule, never its contents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np

from murmurs.boundary.texts import numbered
from murmurs.cli.columns import (
    Answers,
    Columns,
    Outputs,
    answers_in,
    by_question,
    column_options,
    each_question,
    for_each,
    refuse_answer,
)
from murmurs.cli.output import (
    Command,
    as_json,
    chosen_question,
    existing_file,
    new_file,
    piped_file,
    read_survey,
    say,
    seed_option,
    tell,
    tell_segments,
)
from murmurs.files.columns import MOST_ROWS, Chunk, format_of
from murmurs.files.reports import Writer, writing_reports
from murmurs.files.segments import segment_name, segment_parts
from murmurs.joint import Asked, Joint
from murmurs.mechanisms.design import Design
from murmurs.mechanisms.longitudinal import Longitudinal
from murmurs.question import Question
from murmurs.randomness.secure import Secure
from murmurs.randomness.sources import ChanceInBulk
from murmurs.wire import Reports

_BYTES = 2**24


@click.command("encode", cls=Command)
@click.argument("survey", type=existing_file)
@click.argument("answers", type=piped_file)
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
    "-o", "--output", type=new_file, required=True, help="The file of reports to write: .bin."
)
@seed_option
@as_json
def command(
    survey: Path,
    answers: Path,
    name: str | None,
    column: str | None,
    by: tuple[str, ...],
    file_format: Any,
    delimiter: str | None,
    no_header: bool,
    missing: tuple[str, ...],
    drop_missing: bool,
    unknown: tuple[str, ...],
    output: Path,
    seed: int | None,
    as_json: bool,
) -> None:
    """Encode ANSWERS as reports to SURVEY.

    ANSWERS is a file with one label per line (- for standard input), or a CSV, TSV, Parquet or
    JSON lines file, of which --column is read. A file that ends in .gz is unpacked. If SURVEY asks
    several questions together ([[joint]]), the columns with their names are read, and each row
    becomes one report; with --drop-missing, rows with any missing answer are left out.

    For an open question, any line that is not empty is an answer. For a longitudinal mechanism,
    each run draws new permanent responses: people who report again need murmurs.Device.

    With --by REGION and -o reports.bin, the reports of each region are written to a file of their
    own, such as reports-north.bin. Segments are not private. For several columns give --by again:
    --by WEEK --by REGION writes reports-40-north.bin. Do not encode the same answers once for each
    column: every report about an answer costs its epsilon again.

    \b
    Example:
      murmurs encode coffee.json answers.txt -o reports.bin
    """
    _check_output(output)
    contract = read_survey(survey)
    question = chosen_question(contract, name)
    random = Secure() if seed is None else np.random.default_rng(seed)
    columns = Columns(column, by, file_format, delimiter, no_header).of(question)
    options = {
        "missing": for_each(question, "--missing", missing),
        "drop_missing": drop_missing,
        "unknown": for_each(question, "--unknown", unknown),
    }
    for single, own in each_question(question, options):
        _check_options(single, own)
    outputs = Outputs(output, [survey, answers], by)
    size = question.mechanism.shape.size
    is_text = columns.kind(answers) == "text"
    writers: dict[Any, Writer] = {}
    with ExitStack() as stack:
        if not by:
            writers[None] = stack.enter_context(writing_reports(output, contract, question))
        most = max(1, min(MOST_ROWS, _BYTES // size))
        labels = _is_label(question)
        for chunk in columns.chunks(answers, most, is_value=labels):
            for segment, part in chunk.by_segment(answers):
                key = segment_parts(segment) if by else None
                if key not in writers:
                    path = outputs.path(key)
                    writers[key] = stack.enter_context(writing_reports(path, contract, question))
                reports = _encoded(answers, part, question, random, options, is_text=is_text)
                writers[key].put(reports)
    if _keeps_responses(question):
        say(
            "Note: each answer got a new permanent response, which is not kept. For people who "
            "report again, use murmurs.Device: see docs/longitudinal.md.",
            err=True,
        )
    if any(isinstance(single.mechanism, Design) for single, _ in each_question(question, options)):
        say(
            "Note: the answers were randomised now. If people had randomised them already, on "
            "paper or by telephone, use murmurs count --reported instead.",
            err=True,
        )
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
    if isinstance(question, Joint) or question.is_open:
        return None
    return question.labels.__contains__


def _check_output(output: Path) -> None:
    """Refuse a name that promises another format than that of reports."""
    if format_of(output) != "text":
        suffix = "".join(output.suffixes[-2:] if output.suffix == ".gz" else output.suffixes[-1:])
        raise ValueError(
            f"-o {output}: reports are written in murmurs' own binary format, whatever the name, "
            f"and not as {suffix}: give a name that ends in .bin"
        )


def _keeps_responses(question: Asked) -> bool:
    """Whether people who report again would need what this command does not keep."""
    mechanism: Any = question.mechanism
    return any(
        isinstance(part, Longitudinal) and math.isfinite(part.epsilon_permanent_realised)
        for part in getattr(mechanism, "parts", (mechanism,))
    )


def _check_options(question: Question, options: dict[str, Any]) -> None:
    """Refuse options that do not fit the question, before anything is read."""
    if options["missing"] is not None and options["drop_missing"]:
        raise ValueError(
            "--missing names a label for missing answers, and --drop-missing leaves them out: "
            "choose one of the two"
        )
    if question.is_open:
        if options["unknown"] is not None:
            raise ValueError("an open question takes any string: leave --unknown out")
        return
    for option in ("missing", "unknown"):
        if options[option] is not None:
            try:
                question.answer(options[option])
            except ValueError as error:
                raise ValueError(f"--{option}: {error}") from None


def _encoded(
    path: Path,
    chunk: Chunk,
    asked: Asked,
    random: ChanceInBulk,
    options: dict[str, Any],
    *,
    is_text: bool,
) -> Reports:
    rows = by_question(asked, chunk) if isinstance(asked, Joint) else None
    try:
        return asked.encode_many(chunk.values if rows is None else rows, random, **options)
    except (TypeError, ValueError, OverflowError):
        for answers, own in answers_in(path, chunk, asked, options, is_text=is_text):
            _refuse_bad(answers, own)
        raise


def _refuse_bad(answers: Answers, options: dict[str, Any]) -> None:
    """Refuse the first answer that cannot be encoded, if there is one."""
    question = answers.question
    good: set[Any] = set()

    def wrong(value: Any) -> bool:
        key = (type(value), str(value))
        if key not in good:
            try:
                question.numbers([value], unknown=options["unknown"])
            except (TypeError, ValueError, OverflowError):
                return True
            good.add(key)
        return False

    refuse_answer(answers, names=question.labels, options=options, wrong=wrong)
