"""``murmurs encode``: turn answers, lines or a column of a file, into private reports.

An error about a line names its number and the rule, never its contents.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np

from murmurs.cli.columns import Columns, Outputs, column_options, refuse_answer
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
@click.option("--missing", metavar="LABEL", help="The label that missing answers are given.")
@click.option("--drop-missing", is_flag=True, help="Leave missing answers out.")
@click.option("--unknown", metavar="LABEL", help="The label for answers that are not labels.")
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
    missing: str | None,
    drop_missing: bool,
    unknown: str | None,
    output: Path,
    seed: int | None,
    as_json: bool,
) -> None:
    """Encode ANSWERS as reports to SURVEY.

    ANSWERS is a file with one label per line (- for standard input), or a CSV, TSV, Parquet or
    JSON lines file, of which --column is read. A file that ends in .gz is unpacked.

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
    columns = Columns(column, by, file_format, delimiter, no_header)
    options = {"missing": missing, "drop_missing": drop_missing, "unknown": unknown}
    _check_options(question, options)
    outputs = Outputs(output, [survey, answers], by)
    size = question.mechanism.shape.size
    is_text = columns.kind(answers) == "text"
    writers: dict[Any, Writer] = {}
    with ExitStack() as stack:
        if not by:
            writers[None] = stack.enter_context(writing_reports(output, contract, question))
        most = max(1, min(MOST_ROWS, _BYTES // size))
        labels = None if question.is_open else question.labels.__contains__
        for chunk in columns.chunks(answers, most, is_value=labels):
            for segment, part in chunk.by_segment(answers):
                key = segment_parts(segment) if by else None
                if key not in writers:
                    path = outputs.path(key)
                    writers[key] = stack.enter_context(writing_reports(path, contract, question))
                reports = _encoded(answers, part, question, random, options, is_text=is_text)
                writers[key].put(reports)
    mechanism = question.mechanism
    if isinstance(mechanism, Longitudinal) and math.isfinite(mechanism.epsilon_permanent_realised):
        say(
            "Note: each answer got a new permanent response, which is not kept. For people who "
            "report again, use murmurs.Device: see docs/longitudinal.md.",
            err=True,
        )
    if isinstance(mechanism, Design):
        say(
            "Note: the answers were randomised now. If people had randomised them already, on "
            "paper or by telephone, use murmurs count --reported instead.",
            err=True,
        )
    unit = "byte" if size == 1 else "bytes"
    document: dict[str, Any] = {"question": question.name, "reports": 0, "bytes": size}
    document["reports"] = sum(writer.n for writer in writers.values())
    what = f"{document['reports']} reports of {size} {unit} to {question.name!r} written to"
    if not by:
        tell(what, output, document, as_json=as_json)
    else:
        numbers = {segment_name(segment): writer.n for segment, writer in writers.items()}
        tell_segments(what, output, numbers, document, as_json=as_json)


def _check_output(output: Path) -> None:
    """Refuse a name that promises another format than that of reports."""
    if format_of(output) != "text":
        suffix = "".join(output.suffixes[-2:] if output.suffix == ".gz" else output.suffixes[-1:])
        raise ValueError(
            f"-o {output}: reports are written in murmurs' own binary format, whatever the name, "
            f"and not as {suffix}: give a name that ends in .bin"
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
    question: Question,
    random: ChanceInBulk,
    options: dict[str, Any],
    *,
    is_text: bool,
) -> Reports:
    try:
        return question.encode_many(chunk.values, random, **options)
    except (TypeError, ValueError, OverflowError):
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

        refuse_answer(
            path,
            chunk,
            question,
            names=question.labels,
            options=options,
            is_text=is_text,
            wrong=wrong,
        )
        raise
