"""Answers in a file, encoded or refused: an error gives the line and the rule, never the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from murmurs.boundary.checks import shown
from murmurs.boundary.frames import is_missing
from murmurs.boundary.reading import named
from murmurs.files.columns import Chunk
from murmurs.mechanisms.mechanism import OpenMechanism
from murmurs.questions.asked import Asked
from murmurs.questions.single import Single
from murmurs.randomness.sources import ChanceInBulk
from murmurs.wire import Reports


class Answers(NamedTuple):
    """Answers to one question, as they stand in a file; ``one_of_several`` in a row, or alone."""

    path: Path
    chunk: Chunk
    question: Single
    is_text: bool
    one_of_several: bool


def check_asked(question: object) -> None:
    """Refuse what is no question, such as the name of one."""
    if not isinstance(question, Asked):
        raise TypeError(
            "question must be a Question, a Dictionary or a Joint, such as survey['drink'], not of "
            f"type {type(question).__name__}"
        )


def encoded(
    path: Path,
    chunk: Chunk,
    asked: Asked,
    random: ChanceInBulk,
    options: dict[str, Any],
    *,
    is_text: bool,
) -> Reports:
    """Return the reports of the rows of a chunk; the first answer that is wrong is refused."""
    try:
        return asked.encode_many(asked.pick(by_question(asked, chunk)), random, **options)
    except (TypeError, ValueError, OverflowError) as error:
        for answers, own in answers_in(path, chunk, asked, options, is_text=is_text):
            refuse_bad(answers, own)
        raise ValueError(f"{named(path)}: {error}") from None


def answers_in(
    path: Path, chunk: Chunk, asked: Asked, options: dict[str, Any], *, is_text: bool
) -> Iterator[tuple[Answers, dict[str, Any]]]:
    """Return the answers to each question, with the options that apply to it."""
    columns = by_question(asked, chunk)
    for question, own in each_question(asked, options):
        part = chunk._replace(values=columns[question.name])
        yield Answers(path, part, question, is_text, len(columns) > 1), own


def by_question(asked: Asked, chunk: Chunk) -> dict[str, Any]:
    """Return the rows of a chunk as a column for each question; that of one question as it is."""
    if not asked.is_joint:
        return {asked.name: chunk.values}
    columns = zip(*chunk.values, strict=True) if chunk.values else ((),) * len(asked.names)
    return {name: list(column) for name, column in zip(asked.names, columns, strict=True)}


def each_question(asked: Asked, options: dict[str, Any]) -> Iterator[tuple[Single, dict[str, Any]]]:
    """Return each question with the options that apply to it."""
    if not asked.is_joint:
        yield asked.questions[0], options
        return
    for question in asked.questions:
        own = {
            option: (given or {}).get(question.name) if option != "drop_missing" else given
            for option, given in options.items()
        }
        if own.get("missing") is not None:
            own["drop_missing"] = False
        yield question, own


def check_options(question: Single, options: dict[str, Any]) -> None:
    """Refuse options that do not fit the question, before anything is read."""
    if options["missing"] is not None and options["drop_missing"]:
        raise ValueError(
            "`missing=` names a label for missing answers, and `drop_missing=True` leaves them "
            "out: choose one of the two"
        )
    if question.is_open:
        if options["unknown"] is not None:
            raise ValueError("an open question takes any string: leave `unknown=` out")
        return
    for option in ("missing", "unknown"):
        if options[option] is not None:
            try:
                question.answer(options[option])
            except ValueError as error:
                raise ValueError(f"`{option}=`: {error}") from None


def refuse_bad(answers: Answers, options: dict[str, Any]) -> None:
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

    refuse_answer(answers, rule=question.known.rule, options=options, wrong=wrong)


def refuse_answer(
    answers: Answers,
    *,
    rule: str,
    options: dict[str, Any],
    wrong: Callable[[Any], bool],
) -> None:
    """Refuse the first answer that is missing or against the rule, without quoting it."""
    path, chunk, question, is_text, one_of_several = answers
    to = f" to {shown(question.name)}" if one_of_several else ""
    for position, value in enumerate(chunk.listed()):
        if is_missing(value):
            if options.get("missing") is None and not options.get("drop_missing"):
                what = f"the answer{to} is missing: leave such answers out with `drop_missing=True`"
                if "missing" in options:
                    what += ", or name a label for them with `missing=`"
                chunk.refuse(path, position, what)
        elif isinstance(question.mechanism, OpenMechanism):
            try:
                question.mechanism.check(value)
            except (TypeError, ValueError) as error:
                chunk.refuse(path, position, str(error))
        elif wrong(value):
            what = f"this is not an answer to {shown(question.name)}; {rule}"
            what += ": correct it, or name a label for such answers with `unknown=`"
            if is_text and chunk.places[position] == 1:
                what += '; if it is a header, add `format="csv"` and `column=`'
            chunk.refuse(path, position, what)
