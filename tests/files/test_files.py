"""Files of reports and counts are read as written, refused when altered, and never half-written."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurs import KRR, LOSUE, ORR, OUE, Counts, Joint, Question, Subset, Survey
from murmurs.boundary.documents import canonical
from murmurs.files.candidates import read_candidates
from murmurs.files.counts import add_counts, read_counts, write_counts
from murmurs.files.headers import LONGEST_HEADER
from murmurs.files.pooled import PeopleError
from murmurs.files.reports import BLOCK, count_reports, read_reports, write_reports
from murmurs.mechanisms.mechanism import Mechanism
from murmurs.questions.asked import Asked
from murmurs.wire import Reports

RR, UNARY, SETS = KRR(k=300, epsilon=2.0), OUE(k=5, epsilon=1.0), Subset(k=17, epsilon=2.0, w=2)
ASKED = tuple(
    Question(name, tuple(f"label {j}" for j in range(mechanism.k)), mechanism)
    for name, mechanism in (
        ("rr", RR),
        ("unary", UNARY),
        ("sets", SETS),
        ("yes", KRR(k=2, epsilon=1.0)),
        ("no", KRR(k=3, epsilon=1.0)),
    )
)
JOINTS = (Joint(*ASKED[1:3]), Joint(*ASKED[3:5], once=True))
SURVEY = Survey("files", ASKED, joints=JOINTS)
OTHER = Survey("files", SURVEY.questions, version=2)
every = pytest.mark.parametrize("question", [*ASKED[:3], *JOINTS], ids=lambda q: q.name)


def reports_to(question: Asked, n: int, seed: int = 1) -> Reports:
    rng, mechanism = np.random.default_rng(seed), question.mechanism
    assert isinstance(mechanism, Mechanism)
    return mechanism.encode_many(rng.integers(0, mechanism.k, n), rng)


# Reports


@every
def test_reports_are_read_as_written(question: Asked, tmp_path: Path) -> None:
    path, reports = tmp_path / "reports", reports_to(question, 1000)
    assert write_reports(path, SURVEY, question, np.array_split(reports, 3)) == 1000
    of, parts = read_reports(path, SURVEY)
    assert of is question
    assert np.array_equal(np.concatenate(list(parts)), reports)


def by_hand(header: dict[str, Any], reports: bytes, size: int, n: int | None = None) -> bytes:
    """The bytes of a file of reports, written down from docs/wire.md."""
    data = json.dumps(header).encode() + b"\n"
    check = hashlib.sha256(data).digest()
    length = max(1, 4096 // size) * size
    blocks = [reports[i : i + length] for i in range(0, len(reports), length)]
    ends = [(len(block) // size).to_bytes(4, "little") + block for block in blocks]
    total = len(reports) // size if n is None else n
    for block in [*ends, bytes(4) + total.to_bytes(8, "little")]:
        check = hashlib.sha256(check + block).digest()
        data += block + check
    return data


def header_of(question: Asked) -> dict[str, Any]:
    return {
        "murmurs": "reports",
        "format": 1,
        "survey": SURVEY.fingerprint,
        "question": question.name,
    }


@every
@pytest.mark.parametrize("n", [0, 1, 1365, 1366, 10_000])
def test_a_file_of_reports_has_the_bytes_that_are_described(
    question: Asked, n: int, tmp_path: Path
) -> None:
    reports = reports_to(question, n)
    write_reports(tmp_path / "reports", SURVEY, question, [reports])
    size = question.mechanism.shape.size
    assert (tmp_path / "reports").read_bytes() == by_hand(
        header_of(question), reports.tobytes(), size
    )


def test_the_bytes_of_a_file_do_not_tell_how_the_reports_came(tmp_path: Path) -> None:
    question = SURVEY.question("rr")
    reports = reports_to(question, 5000)
    for parts in (1, 2, 7, 5000):
        write_reports(tmp_path / str(parts), SURVEY, question, np.array_split(reports, parts))
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


@every
def test_counting_a_file_is_counting_its_reports(question: Asked, tmp_path: Path) -> None:
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
    assert np.array_equal(np.concatenate(parts), reports)
    long = np.concatenate([reports] * 15)
    write_reports(path, SURVEY, question, [long])
    parts = list(read_reports(path, SURVEY)[1])
    assert [len(part) for part in parts] == [2**20, 2**20, 15 * 150_000 - 2**21]
    assert np.array_equal(np.concatenate(parts), long)


def test_reports_in_another_layout_of_memory_are_written_alike(tmp_path: Path) -> None:
    question = SURVEY.question("sets")
    reports = reports_to(question, 50)
    write_reports(tmp_path / "a", SURVEY, question, [reports])
    write_reports(tmp_path / "b", SURVEY, question, [np.asfortranarray(reports)])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_single_reports_are_stacked_before_they_are_written(tmp_path: Path) -> None:
    question = SURVEY.question("unary")
    single = question.mechanism.shape.unstack(reports_to(question, 3))
    for parts in (single, single[0], reports_to(question, 3)):
        with pytest.raises(TypeError, match=r"give a list of arrays: \[mechanism\.shape\.stack"):
            write_reports(tmp_path / "reports", SURVEY, question, parts)
    assert not (tmp_path / "reports").exists()


def test_reports_for_another_survey_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "reports"
    write_reports(path, SURVEY, SURVEY.questions[0], [reports_to(SURVEY.questions[0], 3)])
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        read_reports(path, OTHER)
    assert str(error.value) == (
        f"{path} holds reports for the survey with fingerprint {SURVEY.fingerprint[:12]!r}, but "
        f"'files' version 2 has fingerprint {OTHER.fingerprint[:12]!r}: use the survey these were "
        "encoded with"
    )


def test_reports_to_a_question_that_is_not_there_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "reports"
    header = {**header_of(SURVEY.questions[0]), "question": "age"}
    path.write_bytes(by_hand(header, b"", 1))
    with pytest.raises(ValueError, match="survey 'files' has no question 'age'; it has 'rr', 'un"):
        read_reports(path, SURVEY)


GOOD = header_of(SURVEY.questions[0])
NOT_HEADERS: list[tuple[bytes | dict[str, Any], str]] = [
    (b"", "it does not begin with a header"),
    (b"\n", "it does not begin with a header"),
    (b"\x00\x01\x02", "it does not begin with a header"),
    (b"[]\n", "it does not begin with a header"),
    (b"\xff\xfe\n", "it does not begin with a header"),
    (json.dumps(GOOD).encode(), "its header has no end"),
    (b'{"murmurs": "reports"', "its header has no end"),
    (b'{"pad": "' + b"x" * 70_000 + b'"}\n', "its header is longer than the maximum of 65536"),
    (b"{'murmurs': 1}\n", "this is not JSON: Expecting property name"),
    (b'{"murmurs": "reports", "survey": "\xff"}\n', "it is not UTF-8 (invalid start byte at byte"),
    (b'{"a":' * 50_000 + b"\n", "its header is longer than"),
    (b'{"a":' * 10_000 + b"\n", "it is nested too deeply"),
    (b'{"murmurs": "reports", "murmurs": "reports"}\n', "the key 'murmurs' occurs twice"),
    ({"murmurs": "counts"}, 'it has no field "murmurs" with the value "reports"'),
    ({"murmurs": ["reports"]}, 'it has no field "murmurs" with the value "reports"'),
    ({**GOOD, "n": 3}, "it has an unknown field 'n'"),
    (
        {**GOOD, "x" * 500: 3},
        "it has an unknown field 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'... (500 ",
    ),
    ({k: v for k, v in GOOD.items() if k != "survey"}, "it has no field 'survey'"),
    ({k: v for k, v in GOOD.items() if k != "format"}, "it has no field 'format'"),
    ({**GOOD, "format": 2}, "it has format 2, this release reads 1: upgrade murmurs"),
    ({**GOOD, "format": 10**400}, "it has format about 10**400"),
    ({**GOOD, "format": True}, "its format is True, and must be 1"),
    ({**GOOD, "format": 1.0}, "its format is 1.0, and must be 1"),
    ({**GOOD, "survey": None}, "its field 'survey' must be a fingerprint in text, not None"),
    ({**GOOD, "question": ["rr"]}, "its field 'question' must be a name, not ['rr']"),
]


@pytest.mark.parametrize(("header", "rule"), NOT_HEADERS)
def test_a_file_without_the_header_is_refused_with_path_and_rule(
    header: bytes | dict[str, Any], rule: str, tmp_path: Path
) -> None:
    path = tmp_path / "reports"
    path.write_bytes(header if isinstance(header, bytes) else by_hand(header, b"", 1))
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        read_reports(path, SURVEY)
    assert str(error.value).startswith(f"{path} is not a file of reports: ")
    assert rule in str(error.value)
    assert len(str(error.value)) < 400


def test_a_header_of_the_longest_length_is_read(tmp_path: Path) -> None:
    """The rule is told as it is: one byte more is one too many."""
    short = len(json.dumps(header_of(SURVEY.questions[0]))) + 1 - len("rr")
    for more, fits in ((0, True), (1, False)):
        name = "q" * (LONGEST_HEADER - short + more)
        question = Question(name, ("no", "yes"), KRR(k=2, epsilon=1.0))
        survey = Survey("long", (question,))
        if not fits:
            with pytest.raises(ValueError, match=" is too long: a header has at most 65536"):
                write_reports(tmp_path / "reports", survey, question, [])
            continue
        write_reports(tmp_path / "reports", survey, question, [])
        assert read_reports(tmp_path / "reports", survey)[0] == question


def saved(path: Path) -> tuple[int, list[str]]:
    """How many reports can be saved, and what is said about the rest."""
    notes: list[str] = []
    _, counts = count_reports([path], SURVEY, notes.append)
    return counts.n, notes


@every
def test_a_file_cut_anywhere_is_refused_and_its_whole_blocks_can_be_saved(
    question: Asked, tmp_path: Path
) -> None:
    """Every place in a small file, among them every boundary of a report and of a block."""
    path, size = tmp_path / "reports", question.mechanism.shape.size
    reports = reports_to(question, BLOCK // size + 20)
    write_reports(path, SURVEY, question, [reports])
    data, start = path.read_bytes(), path.read_bytes().index(b"\n") + 1
    block = BLOCK // size
    first_block = start + 4 + block * size + 32
    places = {*range(start, start + 50), *range(first_block - 40, first_block + 40)}
    places |= set(range(len(data) - 90, len(data)))
    for place in sorted(places):
        path.write_bytes(data[:place])
        whole = block if place >= first_block else 0
        whole = len(reports) if place >= len(data) - 44 else whole
        rest = f", or count its first {whole} reports with `murmurs count --salvage`"
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
            count_reports([path], SURVEY)
        assert str(error.value) == (
            f"{path} is incomplete: copy or encode it again{rest if whole else ''}"
        )
        assert saved(path) == (
            whole,
            [f"{path} is incomplete: its first {whole} reports are counted"],
        )


def test_what_is_saved_of_a_cut_file_are_its_first_reports(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("rr")
    reports = reports_to(question, 5000)
    write_reports(path, SURVEY, question, [reports])
    os.truncate(path, path.stat().st_size - 100)
    notes: list[str] = []
    parts = list(read_reports(path, SURVEY, notes.append)[1])
    assert np.array_equal(np.concatenate(parts), reports[:4096])
    assert len(notes) == 1


@every
def test_a_file_with_any_byte_altered_is_refused(question: Asked, tmp_path: Path) -> None:
    path, size = tmp_path / "reports", question.mechanism.shape.size
    write_reports(path, SURVEY, question, [reports_to(question, BLOCK // size + 5)])
    data, start = path.read_bytes(), path.read_bytes().index(b"\n") + 1
    for place in [
        *range(0, start, 5),
        *range(start, start + 40),
        *range(len(data) - 100, len(data)),
    ]:
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ValueError):  # noqa: PT011 - which rule it breaks depends on the place
            count_reports([path], SURVEY)
        if place >= start:
            n, notes = saved(path)
            assert n in (0, BLOCK // size, BLOCK // size + 5)
            assert len(notes) == 1


def test_a_damaged_block_ends_what_can_be_saved(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("unary")
    write_reports(path, SURVEY, question, [reports_to(question, 3 * BLOCK)])
    data = bytearray(path.read_bytes())
    data[data.index(b"\n") + 1 + 2 * (4 + BLOCK + 32) + 100] ^= 1  # in the third block
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"is damaged: copy or encode .* its first 8192 reports"):
        count_reports([path], SURVEY)
    assert saved(path) == (8192, [f"{path} is damaged: its first 8192 reports are counted"])


def test_blocks_that_are_left_out_or_exchanged_are_noticed(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("unary")
    write_reports(path, SURVEY, question, [reports_to(question, 3 * BLOCK)])
    data, start = path.read_bytes(), path.read_bytes().index(b"\n") + 1
    size = 4 + BLOCK + 32
    head, a, b, rest = (
        data[:start],
        data[start : start + size],
        data[start + size : start + 2 * size],
        data[start + 2 * size :],
    )
    for order in (head + b + rest, head + b + a + rest, head + a + a + b + rest, head + rest):
        path.write_bytes(order)
        with pytest.raises(ValueError, match="is damaged"):
            count_reports([path], SURVEY)


@pytest.mark.parametrize("more", [b"\n", b"\x00" * 44, None])
def test_nothing_may_follow_the_end(more: bytes | None, tmp_path: Path) -> None:
    """Files are given one by one, not joined: None is the file once more."""
    path, question = tmp_path / "reports", SURVEY.question("unary")
    write_reports(path, SURVEY, question, [reports_to(question, 30)])
    path.write_bytes(path.read_bytes() + (path.read_bytes() if more is None else more))
    with pytest.raises(
        ValueError, match=r"does not end where its reports end: copy or .* first 30"
    ):
        count_reports([path], SURVEY)
    assert saved(path)[0] == 30


def test_a_file_that_counts_itself_wrongly_is_refused(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("unary")
    path.write_bytes(by_hand(header_of(question), bytes(7), 1, n=8))
    with pytest.raises(ValueError, match="does not have the number of reports that it states"):
        count_reports([path], SURVEY)


def test_a_bad_report_in_a_file_is_refused_with_path_and_position(tmp_path: Path) -> None:
    path, question = tmp_path / "reports", SURVEY.question("rr")
    reports = reports_to(question, 600_001).astype("<u2")
    reports[600_000] = 65535
    path.write_bytes(by_hand(header_of(question), reports.tobytes(), 2))
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        count_reports([path], SURVEY)
    assert str(error.value) == (
        f"{path}: report 600000 is not a Category(count=300): 65535 is outside 0..299"
    )
    with pytest.raises(ValueError, match="report 600000 is not"):  # it was written so: no salvage
        count_reports([path], SURVEY, lambda _: None)


def test_files_to_two_questions_are_not_counted_together(tmp_path: Path) -> None:
    for name in ("rr", "unary"):
        question = SURVEY.question(name)
        write_reports(tmp_path / name, SURVEY, question, [reports_to(question, 5)])
    with pytest.raises(
        ValueError, match=r"unary answers 'unary' and .*rr 'rr': count them separately"
    ):
        count_reports([tmp_path / "rr", tmp_path / "unary"], SURVEY)


def test_counting_several_files_is_counting_all_their_reports(tmp_path: Path) -> None:
    question = SURVEY.question("sets")
    reports = reports_to(question, 900)
    paths = [tmp_path / str(j) for j in range(3)]
    for path, part in zip(paths, np.array_split(reports, 3), strict=True):
        write_reports(path, SURVEY, question, [part])
    assert count_reports(paths, SURVEY) == (question, question.mechanism.count(reports))


def test_reports_are_read_through_a_pipe(tmp_path: Path) -> None:
    question, pipe = SURVEY.question("unary"), tmp_path / "pipe"
    reports = reports_to(question, 200_000)
    os.mkfifo(pipe)
    writer = threading.Thread(target=write_reports, args=(pipe, SURVEY, question, [reports]))
    writer.start()
    assert count_reports([pipe], SURVEY) == (question, question.mechanism.count(reports))
    writer.join()


LONG = Survey(
    "long reports", (Question("sites", tuple(map(str, range(10_000))), OUE(k=10_000, epsilon=1.0)),)
)


def peak(work: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy had at once during some work."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_short_file_takes_little_memory_whatever_it_claims(tmp_path: Path) -> None:
    """A report of 1,250 bytes; the file claims very many and has none, or ends in a hole."""
    [question] = LONG.questions
    _ = question.mechanism.channel, LONG.fingerprint
    path = tmp_path / "reports"
    header = {**GOOD, "survey": LONG.fingerprint, "question": "sites"}
    line = json.dumps(header).encode() + b"\n"
    for claim, words in ((2**32 - 1, "is damaged"), (1, "is incomplete"), (0, "is damaged")):
        path.write_bytes(line + claim.to_bytes(4, "little"))
        if claim == 0:
            os.truncate(path, 2**31)  # a sparse file: it takes a few kilobytes of the disk

        def refused(words: str = words) -> None:
            with pytest.raises(ValueError, match=words):
                count_reports([path], LONG)

        assert peak(refused) < 2**25


def test_long_reports_are_read_in_bounded_memory(tmp_path: Path) -> None:
    [question] = LONG.questions
    path = tmp_path / "reports"
    part = question.mechanism.shape.from_bytes(bytes(1250 * 400))
    write_reports(path, LONG, question, [part] * 60)  # 30 MB

    def read() -> None:
        assert sum(len(part) for part in read_reports(path, LONG)[1]) == 24_000

    assert peak(read) < 2**23


def test_reports_that_do_not_fit_are_not_written(tmp_path: Path) -> None:
    question = SURVEY.question("rr")
    with pytest.raises(ValueError, match="report 1 is not a Category"):
        write_reports(tmp_path / "reports", SURVEY, question, [np.array([0, 300])])
    other = Question("rr", ("a", "b"), KRR(k=2, epsilon=1.0))
    with pytest.raises(ValueError, match="survey 'files' has a different question 'rr'"):
        write_reports(tmp_path / "reports", SURVEY, other, [])
    assert list(tmp_path.iterdir()) == []


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
def test_counts_are_read_as_written(question: Asked, tmp_path: Path) -> None:
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
        (lambda d: d.update(n=7.0), "n must be a whole number, not 7.0"),
        (lambda d: d.update(n=10**400), "n must be from 0 to"),
        (lambda d: d.update(n=None), "n must be a whole number, not None"),
        (lambda d: d.update(cells=None), "cells are not all whole numbers"),
        (lambda d: d.update(cells=[True, 1, 1, 1, 1]), "cells are not all whole numbers below"),
        (lambda d: d.update(cells=[1.0, 1, 1, 1, 1]), "cells are not all whole numbers below"),
        (lambda d: d.update(cells=[10**400, 1, 1, 1, 1]), "cells are not all whole numbers below"),
        (lambda d: d.update(cells=7), "cells are not all whole numbers below 2**63"),
        (lambda d: d.update(cells=[]), "have shape (5,), not (0,)"),
        (lambda d: d.update(cells=[[1, 2, 3, 4, 5]]), "have shape (5,), not (1, 5)"),
        (lambda d: d.pop("n"), "it has no field 'n'"),
        (lambda d: d.pop("cells"), "it has no field 'cells'"),
        (lambda d: d.pop("question"), "it has no field 'question'"),
        (lambda d: d.pop("survey"), "it has no field 'survey'"),
        (lambda d: d.pop("digest"), "it has no field 'digest'"),
        (lambda d: d.update(format=2), "it has format 2, this release reads 1: upgrade murmurs"),
        (lambda d: d.update(format="1"), "its format is '1', and must be 1"),
        (lambda d: d.update(survey=7), "its field 'survey' must be a fingerprint in text, not 7"),
        (lambda d: d.update(extra=1), "it has an unknown field 'extra'"),
        (lambda d: d["question"].update(extra=1), "unknown field"),
        (lambda d: d.update(question=7), "this is not a question: "),
        (lambda d: d.update(murmurs="reports"), 'no field "murmurs" with the value "counts"'),
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


ALTERED = "its digest does not match: it was altered after it was written"


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(survey="0" * 16),
        lambda d: d.update(n=8),
        lambda d: d["cells"].__setitem__(0, 2),
        lambda d: d["cells"].reverse(),
        lambda d: d["question"].update(name="other"),
        lambda d: d["question"].update(text="Do you?"),
        lambda d: d["question"]["labels"].reverse(),
        lambda d: d["question"]["labels"].__setitem__(0, "another label"),
        lambda d: d["question"]["mechanism"].update(epsilon=1.5),
        lambda d: d["question"]["mechanism"].update(flip=d["question"]["mechanism"]["flip"] + 5),
        lambda d: d.update(digest="0" * 64),
        lambda d: d.update(digest=None),
    ],
)
def test_counts_that_were_altered_and_still_make_sense_are_noticed(
    change: Any, tmp_path: Path
) -> None:
    path, document = written_counts(tmp_path)
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        read_counts(path)
    assert str(error.value) == f"{path} is not a file of counts: {ALTERED}"


def test_the_digest_is_the_one_that_is_described(tmp_path: Path) -> None:
    _, document = written_counts(tmp_path)
    digest, cells = document.pop("digest"), document.pop("cells")
    data = canonical(document).encode() + b"".join(x.to_bytes(8, "little") for x in cells)
    assert digest == hashlib.sha256(data).hexdigest()


def test_the_layout_of_a_file_of_counts_does_not_matter(tmp_path: Path) -> None:
    path, document = written_counts(tmp_path)
    before = read_counts(path)
    text = json.dumps(dict(reversed(document.items())), indent=3)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_counts(path) == before


def test_counts_in_tables_are_read_as_written(tmp_path: Path) -> None:
    question = Question("home", (), ORR(epsilon=2.0, width=8, cohorts=4))
    survey = Survey("open", (question,))
    counts = question.mechanism.count(question.mechanism.encode_many(["a", "b"] * 50))
    write_counts(tmp_path / "counts", survey, question, counts)
    assert read_counts(tmp_path / "counts", survey) == (question, counts)


def test_counts_are_checked_against_the_survey_at_hand(tmp_path: Path) -> None:
    path, _ = written_counts(tmp_path)
    assert read_counts(path, SURVEY) == read_counts(path)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        read_counts(path, OTHER)
    assert str(error.value) == (
        f"{path} holds counts for the survey with fingerprint {SURVEY.fingerprint[:12]!r}, but "
        f"'files' version 2 has fingerprint {OTHER.fingerprint[:12]!r}: use the survey these were "
        "encoded with"
    )
    question = SURVEY.question("rr")
    posing = Question("unary", question.labels, question.mechanism)
    write_counts(path, SURVEY.fingerprint, posing, question.mechanism.count([]))
    with pytest.raises(
        ValueError, match="has a question 'unary' that differs from the one in survey 'files'"
    ):
        read_counts(path, SURVEY)


def test_counts_that_could_not_be_read_again_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = SURVEY.question("unary")
    monkeypatch.setattr("murmurs.files.counts.LONGEST_DOCUMENT", 300)
    with pytest.raises(ValueError, match=r"take \d+ bytes, but a file of counts has at most 300"):
        write_counts(tmp_path / "counts", SURVEY, question, question.mechanism.count([]))
    assert list(tmp_path.iterdir()) == []


def test_counts_of_something_else_are_not_written(tmp_path: Path) -> None:
    rr, unary = SURVEY.question("rr"), SURVEY.question("unary")
    with pytest.raises(ValueError, match=r"counts of KRR.* are not answers to 'unary', which has"):
        write_counts(tmp_path / "counts", SURVEY, unary, rr.mechanism.count([]))
    other = Question("rr", ("a", "b"), KRR(k=2, epsilon=1.0))
    with pytest.raises(ValueError, match="survey 'files' has a different question 'rr'"):
        write_counts(tmp_path / "counts", SURVEY, other, other.mechanism.count([]))
    assert list(tmp_path.iterdir()) == []


def test_counts_of_one_question_add_up_and_of_two_surveys_do_not(tmp_path: Path) -> None:
    question = SURVEY.question("unary")
    reports = reports_to(question, 90)
    paths = [tmp_path / str(j) for j in range(3)]
    for path, part in zip(paths, np.array_split(reports, 3), strict=True):
        write_counts(path, SURVEY, question, question.mechanism.count(part))
    total = question.mechanism.count(reports)
    assert add_counts(paths) == (SURVEY.fingerprint, question, total)
    assert add_counts(paths[:1])[2] == question.mechanism.count(reports[:30])
    # The mechanism is the same, and so would be the sum: only the fingerprint tells.
    write_counts(paths[2], OTHER, question, question.mechanism.count(reports))
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        add_counts(paths)
    assert str(error.value) == (
        f"{paths[2]} holds counts for the survey with fingerprint {OTHER.fingerprint[:12]!r}, but "
        f"{paths[0]} for the one with {SURVEY.fingerprint[:12]!r}: counts of two surveys do not "
        "add up"
    )
    rr = SURVEY.question("rr")
    write_counts(paths[2], SURVEY, rr, rr.mechanism.count([]))
    with pytest.raises(ValueError, match=r"answers 'rr' and .* 'unary': add them separately"):
        add_counts(paths)


def test_more_reports_than_can_be_counted_do_not_add_up(tmp_path: Path) -> None:
    question = Question("hot", ("no", "yes"), OUE(k=2, epsilon=1.0))
    survey = Survey("many", (question,))
    counts = Counts(question.mechanism, 2**62, np.array([2**62, 0]))
    write_counts(tmp_path / "counts", survey, question, counts)
    with pytest.raises(ValueError, match=r"^n must be from 0 to"):
        add_counts([tmp_path / "counts"] * 2)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"{", "this is not JSON: "),
        (b"\xff\xfe", "this is not JSON: it is not UTF-8"),
        ('{"murmurs": "counts"}'.encode("utf-16"), "this is not JSON: it is not UTF-8"),
        (b"counts", "this is not JSON: "),
        (b"[" * 200_000, "it is nested too deeply"),
        (b'{"murmurs": "counts", "cells": ' + b"[" * 900 + b"]" * 900 + b"}", "it has no field"),
        (b'{"n": 1, "n": 1}', "the key 'n' occurs twice"),
        (b'{"a": {"n": 1, "n": 1}}', "the key 'n' occurs twice"),
        (b'{"n": NaN}', "NaN is not a finite number"),
        (b'{"n": -Infinity}', "-Infinity is not a finite number"),
        (b'{"n": 1e999}', "1e999 is not a finite number"),
        (b'{"n": ' + b"9" * 10_000 + b"}", "a number has thousands of digits"),
    ],
)
def test_counts_that_are_no_json_are_refused_with_the_path(
    data: bytes, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "counts"
    path.write_bytes(data)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked for below
        read_counts(path)
    assert str(error.value).startswith(f"{path} is not a file of counts: ")
    assert words in str(error.value)
    assert len(str(error.value)) < 400


def test_paths_may_be_text_and_a_single_one_stands_for_itself(tmp_path: Path) -> None:
    question = SURVEY.question("unary")
    reports, counts = str(tmp_path / "reports"), str(tmp_path / "counts")
    assert write_reports(reports, SURVEY, question, [reports_to(question, 50)]) == 50
    assert sum(map(len, read_reports(reports, SURVEY)[1])) == 50
    of, found = count_reports(reports, SURVEY)
    assert count_reports(Path(reports), SURVEY)[1] == found
    assert count_reports([reports, Path(reports)], SURVEY)[1] == found + found
    write_counts(counts, SURVEY, of, found)
    assert read_counts(counts, SURVEY)[1] == found
    assert add_counts(counts)[2] == found
    assert add_counts([Path(counts), counts])[2] == found + found
    strings = tmp_path / "strings"
    strings.write_text("tea\nmate\n")
    assert read_candidates(str(strings))[0] == ("tea", "mate")
    for none in (lambda: count_reports([], SURVEY), lambda: add_counts([])):
        with pytest.raises(ValueError, match="there are no files: give at least one path"):
            none()


def test_errors_about_people_speak_the_language_of_the_caller(tmp_path: Path) -> None:
    question = Question("drink", ("a", "b"), LOSUE(k=2, epsilon=1.0, epsilon_permanent=2.0))
    survey = Survey("weekly", (question,))
    path = tmp_path / "reports"
    write_reports(path, survey, question, [reports_to(question, 10)])
    with pytest.raises(PeopleError, match='people="different" if each') as error:
        count_reports([path, path], survey)
    assert "--people" not in str(error.value)
    assert "--people different if each" in error.value.on_command_line
    write_reports(path, SURVEY, SURVEY.question("rr"), [reports_to(SURVEY.question("rr"), 10)])
    with pytest.raises(PeopleError, match="fresh in every report: leave people out"):
        count_reports(path, SURVEY, people="same")


# Questions counted together


def test_counts_of_questions_that_the_survey_does_not_list_together_are_files_too(
    tmp_path: Path,
) -> None:
    plain = Survey("files", ASKED)
    joint, path = Joint(ASKED[3], ASKED[1]), tmp_path / "counts"
    counts = joint.simulate(np.ones((2, 5), int), np.random.default_rng(1))
    write_counts(path, plain, joint, counts)
    assert read_counts(path, plain) == (joint, counts)
    with pytest.raises(ValueError, match=r"has no question 'yes\+unary'"):
        write_reports(tmp_path / "reports", plain, joint, [])
    with pytest.raises(ValueError, match="together, in this order: take margins"):
        write_counts(tmp_path / "other", SURVEY, joint, counts)


def test_counts_of_another_joint_are_refused(tmp_path: Path) -> None:
    plain, path = Survey("files", ASKED), tmp_path / "counts"
    once = JOINTS[1]
    counts = once.simulate(np.ones((2, 3), int), np.random.default_rng(1))
    with pytest.raises(ValueError, match="has a different joint of 'yes', 'no'"):
        write_counts(path, plain, once, counts)
    write_counts(path, plain.fingerprint, once, counts)
    with pytest.raises(ValueError, match="differs from the one in survey 'files'"):
        read_counts(path, plain)
