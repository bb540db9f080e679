"""Files of surveys: as people write them (TOML), or published (JSON)."""

from __future__ import annotations

from pathlib import Path

from murmurs.boundary.documents import document
from murmurs.boundary.reading import contents, named
from murmurs.boundary.writing import STANDARD
from murmurs.files.headers import AnyPath, is_header_of_reports
from murmurs.survey.survey import Survey


def read_survey(path: AnyPath) -> Survey:
    r"""Return the survey in a file: published (JSON) or written by hand (a name in .toml).

    >>> from tempfile import TemporaryDirectory
    >>> text = 'name = "s"\n[[questions]]\nname = "q"\nlabels = ["a", "b"]\nepsilon = 1.0'
    >>> with TemporaryDirectory() as folder:
    ...     done = Path(folder, "s.toml").write_text(text)
    ...     read_survey(Path(folder, "s.toml")).names
    ('q',)
    """
    file = Path(path)
    data = contents(file)
    if is_header_of_reports(data):
        raise ValueError(
            f"{named(file)} is a file of reports, not a survey: in `murmurs count` the survey "
            "comes first"
        )
    try:
        if file.suffix == ".toml":
            return Survey.from_toml(data)
        document(data)
        return Survey.from_json(data)
    except (ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"{named(file)}: {error}") from None


def keep_published(output: Path, survey: Survey, raise_version: str = "") -> None:
    """Refuse to replace a published survey that has another fingerprint.

    ``raise_version`` is what to do first if it is the same survey of the same version.
    """
    if output == STANDARD or not output.is_file():
        return
    try:
        there = Survey.from_json(contents(output))
    except (ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return  # it is not a survey
    if there.fingerprint != survey.fingerprint:
        raised = there.name != survey.name or there.version < survey.version
        way_out = "" if raised else raise_version
        raise ValueError(
            f"{output} holds version {there.version} of survey {there.name!r} with fingerprint "
            f"{there.short_fingerprint}: {way_out}publish to another file, or delete it first"
        )
