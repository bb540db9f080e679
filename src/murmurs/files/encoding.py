"""Encode the answers in files as private reports, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Unpack

from murmurs.files.answers import check_asked, check_options, each_question, encoded
from murmurs.files.columns import MOST_ROWS
from murmurs.files.headers import AnyPath, as_paths
from murmurs.files.outputs import Outputs
from murmurs.files.reports import ReportWriter, writing_reports
from murmurs.files.segments import Segment, checked_texts
from murmurs.files.selection import Reading, columns_of
from murmurs.questions.asked import Asked
from murmurs.randomness.sources import ChanceInBulk, as_generator
from murmurs.survey.survey import Survey

_BYTES = 2**24


def encode_file(
    paths: AnyPath | Sequence[AnyPath],
    output: AnyPath,
    survey: Survey,
    question: Asked,
    column: str | None = None,
    *,
    by: str | Sequence[str] = (),
    missing: Any = None,
    drop_missing: bool = False,
    unknown: Any = None,
    random: ChanceInBulk = None,
    protected: Sequence[AnyPath] = (),
    **reading: Unpack[Reading],
) -> dict[Segment, int]:
    r"""Encode the answers in files, and write a file of reports; return how many there are.

    A file has one label per line, or ``column`` names a column of CSV, Parquet or JSON lines; those
    of questions asked together have their names. With ``by``, the rows of each value of another
    column go to a file of their own, and the result has a number for each; without it, one for
    ``()``. ``missing``, ``drop_missing`` and ``unknown`` are as in ``question.encode_many``. No
    file that is read is overwritten, nor one of those that are ``protected``.

    >>> from tempfile import TemporaryDirectory
    >>> from murmurs import Question
    >>> drink = Question("drink", ["tea", "mate"], epsilon=1.0)
    >>> with TemporaryDirectory() as folder:
    ...     source, output = Path(folder, "people.csv"), Path(folder, "reports.bin")
    ...     done = source.write_text("drink,region\ntea,north\nmate,south\ntea,north\n")
    ...     encode_file(source, output, Survey("s", (drink,)), drink, "drink", by="region")
    {('north',): 2, ('south',): 1}
    """
    check_asked(question)
    as_generator(random)  # refuses what has one key for each row of a column
    files, target = as_paths(paths), Path(output)
    columns = columns_of(column, by, reading).of(question)
    options = {"missing": missing, "drop_missing": drop_missing, "unknown": unknown}
    for single, own in each_question(question, options):
        check_options(single, own)
    outputs = Outputs(target, [*files, *map(Path, protected)], split=bool(columns.by))
    most = max(1, min(MOST_ROWS, _BYTES // question.mechanism.shape.size))
    writers: dict[Segment, ReportWriter] = {}
    with ExitStack() as stack:

        def writer(segment: Segment) -> ReportWriter:
            if segment not in writers:
                file = writing_reports(outputs.path(segment), survey, question)
                writers[segment] = stack.enter_context(file)
            return writers[segment]

        if not columns.by:
            writer(())
        for path in files:
            is_text = columns.kind(path) == "text"
            for chunk in columns.chunks(path, most, is_value=_is_label(question)):
                for segment, part in chunk.by_segment(path):
                    out = writer(checked_texts(path, segment))
                    out.put(encoded(path, part, question, random, options, is_text=is_text))
    return {segment: own.n for segment, own in writers.items()}


def _is_label(question: Asked) -> Callable[[str], bool] | None:
    """Return a test of whether a text is an answer rather than the name of a column."""
    if question.is_joint or question.is_open:
        return None
    [single] = question.questions
    return lambda text: single.place_of(text) is not None
