"""Files of reports and counts are read as written, refused when altered, and never half-written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurs import KRR, OUE, Counts, Question, Subset, Survey
from murmurs.files import read_counts, read_reports, write_counts, write_reports
from murmurs.wire import Reports

RR, UNARY, SETS = KRR(k=300, epsilon=2.0), OUE(k=5, epsilon=1.0), Subset(k=17, epsilon=2.0, w=2)
SURVEY = Survey(
    "files",
    tuple(
        Question(name, tuple(f"label {j}" for j in range(mechanism.k)), mechanism)
        for name, mechanism in (("rr", RR), ("unary", UNARY), ("sets", SETS))
    ),
)
OTHER = Survey("files", SURVEY.questions, version=2)
every = pytest.mark.parametrize("question", SURVEY.questions, ids=lambda q: q.name)


def reports_to(question: Question, n: int, seed: int = 1) -> Reports:
    rng = np.random.default_rng(seed)
    return question.closed.encode_many(rng.integers(0, question.closed.k, n), rng)


# Reports


@every
def test_reports_are_read_as_written(question: Question, tmp_path: Path) -> None:
    path, reports = tmp_path / "reports", reports_to(question, 1000)
    assert write_reports(path, SURVEY, question, np.array_split(reports, 3)) == 1000
    of, parts = read_reports(path, SURVEY)
    assert of is question
    assert np.array_equal(np.concatenate(list(parts)), reports)
    header, _, rest = path.read_bytes().partition(b"\n")
    assert json.loads(header) == {
        "murmurs": "reports",
        "survey": SURVEY.fingerprint,
        "question": question.name,
    }
    assert rest == reports.tobytes()


@every
def test_counting_a_file_is_counting_its_reports(question: Question, tmp_path: Path) -> None:
    path, reports = tmp_path / "reports", reports_to(question, 500)
    write_reports(path, SURVEY, question, [reports])
    assert question.mechanism.count(read_reports(path, SURVEY)[1]) == question.mechanism.count(
        reports
    )


def test_a_file_without_reports_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "reports"
    assert write_reports(path, SURVEY, SURVEY.questions[0], []) == 0
    assert list(read_reports(path, SURVEY)[1]) == []


def test_a_long_file_comes_in_parts(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("unary")
    reports = reports_to(question, 150_000)
    write_reports(path, SURVEY, question, [reports])
    parts = list(read_reports(path, SURVEY)[1])
    assert [len(part) for part in parts] == [65_536, 65_536, 18_928]
    assert np.array_equal(np.concatenate(parts), reports)


def test_reports_in_another_layout_of_memory_are_written_alike(tmp_path: Path) -> None:
    question = SURVEY.question("sets")
    reports = reports_to(question, 50)
    write_reports(tmp_path / "a", SURVEY, question, [reports])
    write_reports(tmp_path / "b", SURVEY, question, [np.asfortranarray(reports)])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_reports_for_another_survey_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "reports"
    write_reports(path, SURVEY, SURVEY.questions[0], [reports_to(SURVEY.questions[0], 3)])
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        read_reports(path, OTHER)
    assert str(error.value) == (
        f"{path} holds reports for survey {SURVEY.fingerprint}, "
        f"but 'files' version 2 is {OTHER.fingerprint}"
    )


def test_reports_to_a_question_that_is_not_there_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "reports"
    header = {"murmurs": "reports", "survey": SURVEY.fingerprint, "question": "age"}
    path.write_bytes(json.dumps(header).encode() + b"\n")
    with pytest.raises(ValueError, match="survey 'files' has no question 'age'; it has 'rr', 'un"):
        read_reports(path, SURVEY)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\x00\x01\x02",
        b"[]\n",
        b'{"murmurs": "counts"}\n',
        b'{"murmurs": "reports"',
        b"\xff\xfe\n",
        b'{"murmurs": "reports", "pad": "' + b"x" * 70_000 + b'"}\n',
    ],
)
def test_a_file_without_the_header_is_refused_with_its_path(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "reports"
    path.write_bytes(data)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        read_reports(path, SURVEY)
    reason = "is not a file of reports: it does not begin with their header"
    assert str(error.value) == f"{path} {reason}"


def test_a_truncated_file_is_refused_with_path_and_position(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("rr")
    write_reports(path, SURVEY, question, [reports_to(question, 70_000)])
    os.truncate(path, path.stat().st_size - 1)
    parts = read_reports(path, SURVEY)[1]
    assert len(next(parts)) == 65_536
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        next(parts)
    length = 2 * (70_000 - 65_536) - 1
    assert str(error.value) == (
        f"{path}, after 65536 reports: {length} bytes are not reports of 2 bytes each: "
        "Category(count=300)"
    )


def test_a_bad_report_in_a_file_is_refused_with_path_and_position(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("rr")
    write_reports(path, SURVEY, question, [reports_to(question, 10)])
    data = bytearray(path.read_bytes())
    data[-2:] = b"\xff\xff"
    path.write_bytes(data)
    message = r"after 0 reports: report 9 is not a Category\(count=300\): 65535 is outside 0..299$"
    with pytest.raises(ValueError, match=message):
        question.mechanism.count(read_reports(path, SURVEY)[1])


# Whole or not at all


class Unplugged(Exception):  # noqa: N818 - what happens, not an error of ours
    pass


@pytest.mark.parametrize("there", [True, False])
def test_a_write_that_fails_leaves_things_as_they_were(there: bool, tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("rr")
    if there:
        path.write_bytes(b"what was there before")

    def parts() -> Iterator[Reports]:
        yield reports_to(question, 100_000)
        raise Unplugged

    with pytest.raises(Unplugged):
        write_reports(path, SURVEY, question, parts())
    assert [p.name for p in tmp_path.iterdir()] == (["reports"] if there else [])
    assert not there or path.read_bytes() == b"what was there before"


def test_nothing_is_at_the_path_until_all_is_written(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("rr")
    seen: list[bool] = []

    def parts() -> Iterator[Reports]:
        for seed in range(3):
            yield reports_to(question, 50_000, seed)
            seen.append(path.exists())

    write_reports(path, SURVEY, question, parts())
    assert seen == [False] * 3
    assert path.exists()


def test_a_written_file_has_the_rights_of_a_new_one(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_reports(tmp_path / "reports", SURVEY, SURVEY.questions[0], [])
    finally:
        os.umask(before)
    assert (tmp_path / "reports").stat().st_mode & 0o777 == 0o640


# Counts


@every
def test_counts_are_read_as_written(question: Question, tmp_path: Path) -> None:
    path, counts = tmp_path / "counts", question.mechanism.count(reports_to(question, 300))
    write_counts(path, SURVEY, question, counts)
    assert read_counts(path) == (question, counts)


def written_counts(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    path, question = tmp_path / "counts", SURVEY.question("unary")
    counts = Counts(UNARY, 7, np.array([1, 2, 3, 4, 5]))
    write_counts(path, SURVEY, question, counts)
    document: dict[str, Any] = json.loads(path.read_bytes())
    return path, document


def test_a_file_of_counts_says_of_which_survey(tmp_path: Path) -> None:
    _, document = written_counts(tmp_path)
    assert document["murmurs"] == "counts"
    assert document["survey"] == SURVEY.fingerprint
    assert document["question"] == SURVEY.question("unary").to_document()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["cells"].__setitem__(0, 8), "cell 0 is 8, outside 0..7 of 7 reports"),
        (lambda d: d["cells"].__setitem__(4, -1), "cell 4 is -1, outside 0..7 of 7 reports"),
        (lambda d: d["cells"].append(0), "have shape (5,), not (6,)"),
        (lambda d: d["cells"].__setitem__(0, 1.5), "cells are not all whole numbers below 2**63"),
        (lambda d: d["cells"].__setitem__(0, "1"), "cells are not all whole numbers below 2**63"),
        (lambda d: d["cells"].__setitem__(0, 2**70), "cells are not all whole numbers below 2"),
        (lambda d: d["cells"].__setitem__(0, [1]), "cells are not a table: its rows differ"),
        (lambda d: d.update(n=4), "cell 4 is 5, outside 0..4 of 4 reports"),
        (lambda d: d.update(n=-7), "n must be from 0 to"),
        (lambda d: d.update(n=True), "n must be a whole number, not True"),
        (lambda d: d.update(n="7"), "n must be a whole number, not '7'"),
        (lambda d: d.pop("n"), "n must be a whole number, not None"),
        (lambda d: d.pop("cells"), "cells are not all whole numbers"),
        (lambda d: d.pop("question"), "this is not a question: "),
        (lambda d: d.update(question=7), "this is not a question: "),
        (lambda d: d.update(murmurs="reports"), "is not a file of counts"),
        (lambda d: d["question"].update(labels=[1, 2, 3, 4, 5]), "Expected `str`, got `int`"),
        (lambda d: d["question"]["labels"].pop(), "has 4 labels, but its mechanism"),
        (lambda d: d["question"]["mechanism"].update(flip=5), "they promise"),
        (lambda d: d["question"]["mechanism"].update(name="OUR"), "there is no mechanism 'OUR'"),
    ],
)
def test_counts_that_were_altered_are_refused_with_path_and_reason(
    change: Any, message: str, tmp_path: Path
) -> None:
    path, document = written_counts(tmp_path)
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        read_counts(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"counts"])
def test_counts_that_are_no_json_are_refused_with_the_path(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "counts"
    path.write_bytes(data)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        read_counts(path)
    assert str(error.value).startswith(f"{path} is not JSON: ")
