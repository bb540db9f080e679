"""What files of reports and of counts have in common: kind, format, survey and question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmurs.boundary.checks import shown
from murmurs.boundary.documents import document, fields
from murmurs.boundary.reading import named
from murmurs.boundary.texts import listed
from murmurs.questions.asked import Asked
from murmurs.survey.survey import Survey

FORMAT = 1
"""The version of both kinds of file that this release writes and reads."""

LONGEST_HEADER = 2**16

AnyPath = str | Path
"""The path of a file; "-" is standard input or output."""


def as_paths(paths: AnyPath | Sequence[AnyPath]) -> list[Path]:
    """Return one or more paths as a list."""
    found = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    if not found:
        raise ValueError("there are no files: give at least one path")
    return found


def check_kind(kind: str, found: object, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of a document; refuse one of another kind or format."""
    if not isinstance(found, dict) or found.get("murmurs") != kind:
        raise ValueError(f'it has no field "murmurs" with the value "{kind}"')
    written = found.get("format")
    if isinstance(written, int) and not isinstance(written, bool) and written > FORMAT:
        raise ValueError(
            f"it has format {shown(written)}, this release reads {FORMAT}: upgrade murmurs"
        )
    fields(found, wanted, "it")
    if type(written) is not int or written != FORMAT:
        raise ValueError(f"its format is {shown(written)}, and must be {FORMAT}")
    if not isinstance(found["survey"], str):
        raise ValueError(
            f"its field 'survey' must be a fingerprint in text, not {shown(found['survey'])}"
        )
    if kind == "reports" and not isinstance(found["question"], str):
        raise ValueError(f"its field 'question' must be a name, not {shown(found['question'])}")
    return found


def check_asked(survey: Survey, question: Asked) -> None:
    """Refuse a question, or a joint of questions, that is not in the survey."""
    if survey.asked(question.name) != question:
        raise ValueError(
            f"survey {shown(survey.name)} has a different question {shown(question.name)}"
        )


def check_counted(survey: Survey, question: Asked) -> None:
    """Refuse what is not in the survey; its questions may be counted together all the same.

    The reports to them then came in one submission, although the survey lists no such joint.
    """
    if question.name in survey.names:
        check_asked(survey, question)
    elif survey.like(question) != question:
        raise ValueError(
            f"survey {shown(survey.name)} has a different joint of {listed(question.names)}"
        )


def check_survey(path: Path, what: str, fingerprint: str, survey: Survey) -> None:
    """Refuse a file that was made for another survey."""
    if fingerprint != survey.fingerprint:
        raise ValueError(
            f"{named(path)} holds {what} for the survey with fingerprint "
            f"{shown(fingerprint[:12])}, but {shown(survey.name)} version {survey.version} has "
            f"fingerprint {shown(survey.short_fingerprint)}: use the survey these were encoded with"
        )


def is_header_of_reports(data: bytes) -> bool:
    """Return whether bytes begin as a file of reports does."""
    line, end, _ = data[:LONGEST_HEADER].partition(b"\n")
    try:
        header = document(line)
    except ValueError:
        return False
    return bool(end) and isinstance(header, dict) and header.get("murmurs") == "reports"
