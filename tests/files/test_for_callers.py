"""Files for Python callers: what commands read, functions read too, with errors in their words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from murmurs import KRR, Joint, Question, Survey, warner
from murmurs.cli.wording import in_options
from murmurs.files import (
    count_column,
    count_segments,
    count_values,
    encode_file,
    encode_table,
    find_files,
    read_joint,
    read_people,
    read_reports,
    read_survey,
    read_together,
    write_counts,
)

DRINK = Question("drink", ["tea", "mate", "gin"], KRR(3, 1.0))
MILK = Question("milk", ["no", "yes"], KRR(2, 1.0))
SURVEY = Survey("morning", (DRINK, MILK))
ROWS = "drink,milk,region,week\ntea,no,north,9\ngin,yes,south,10\ntea,yes,north,10\n"
CODES = "drink,milk,region\n0,0,north\n2,1,south\n0,1,north\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "codes.csv").write_text(CODES)
    (tmp_path / "survey.json").write_text(SURVEY.to_json())
    return tmp_path


def test_a_column_of_reports_is_counted_as_the_reports_are(folder: Path) -> None:
    counts = count_column(folder / "codes.csv", DRINK, "drink")
    assert counts == DRINK.count([0, 2, 0])
    both = count_column([folder / "codes.csv"] * 2, DRINK, "drink")
    assert both == counts + counts


def test_labels_that_were_randomised_already_are_counted_as_they_are(folder: Path) -> None:
    told = count_column(folder / "people.csv", DRINK, "drink", reported=True)
    assert told.cells.tolist() == [2, 0, 1]
    paper = folder / "paper.txt"
    paper.write_text("yes\n\nno\nperhaps\n")
    question = Question("cheated", mechanism=warner("3/4"))
    answers = count_column(paper, question, reported=True, drop_missing=True, unknown="no")
    assert answers.n == 3


def test_counts_by_segment_are_those_of_its_rows(folder: Path) -> None:
    found = count_segments(folder / "codes.csv", DRINK, "drink", "region")
    assert found == {("north",): DRINK.count([0, 0]), ("south",): DRINK.count([2])}
    both = count_segments(folder / "people.csv", DRINK, "drink", ["week", "region"], reported=True)
    assert set(both) == {("9", "north"), ("10", "south"), ("10", "north")}


def test_a_file_is_encoded_as_its_column_is(folder: Path) -> None:
    out = folder / "reports.bin"
    made = encode_file(
        folder / "people.csv", out, SURVEY, DRINK, "drink", random=np.random.default_rng(1)
    )
    [reports] = read_reports(out, SURVEY)[1]
    again = DRINK.encode_many(["tea", "gin", "tea"], np.random.default_rng(1))
    assert made == {(): 3}
    assert reports.tolist() == again.tolist()


def test_a_private_table_has_a_column_for_each_question_and_says_what_it_costs(
    folder: Path,
) -> None:
    out = folder / "private.csv"
    columns = {"drink": None, "milk": None}
    table = encode_table(folder / "people.csv", out, SURVEY, columns, keep=["region"])
    assert out.read_text().splitlines()[0] == "drink,milk,region"
    assert (table.rows, f"{table}") == (3, "3 rows of private codes")
    exact = DRINK.mechanism.epsilon_realised + MILK.mechanism.epsilon_realised
    assert table.epsilon is not None
    assert float(table.epsilon) == pytest.approx(exact)
    assert table.notes[2] == "Copied as they were, and not private: 'region'."
    assert count_column(out, DRINK, "drink").n == 3


def test_a_table_of_two_questions_is_read_from_columns_with_their_names(folder: Path) -> None:
    found = read_joint([folder / "survey.json", folder / "codes.csv"], by="region")
    assert found.names == ["north", "south"]
    assert found.asked == Joint(DRINK, MILK)
    assert [counts.n for counts in found.counts.values()] == [2, 1]
    assert read_survey(folder / "survey.json") == SURVEY


def test_files_of_counts_are_read_together_and_another_survey_is_noted(folder: Path) -> None:
    for name, survey in (("a", SURVEY), ("b", Survey("evening", (DRINK,)))):
        write_counts(folder / f"{name}.json", survey, DRINK, DRINK.count([0, 1]))
    notes: list[str] = []
    question, read = read_together(find_files(folder / "[ab].json"), note=notes.append)
    assert (question, [counts.n for _, counts in read]) == (DRINK, [2, 2])
    assert len(notes) == 1
    assert "belongs to another survey" in notes[0]


def test_values_are_counted_and_the_rare_ones_merged(folder: Path) -> None:
    data = folder / "data.csv"
    data.write_text("drink,people\ntea,5\ngin,4\nrum,1\nmate,1\n")
    assert count_values(data, "drink", counts="people", top=2) == {"tea": 5, "gin": 4, None: 2}
    notes: list[str] = []
    assert sum(count_values(data, "drink", note=notes.append).values()) == 4
    assert "every one of 4 people holds another value" in notes[0]
    people = folder / "people.txt"
    people.write_text("tea,3\ngin,4\ntea,1\n")
    assert read_people(people, DRINK) == {"tea": 4, "mate": 0, "gin": 4}


def test_a_column_that_has_no_labels_is_refused_with_its_file_whatever_stands_for_unknown_ones(
    folder: Path,
) -> None:
    file, out = folder / "people.parquet", folder / "out.bin"
    pq.write_table(pa.table({"drink": [b"secret", b"tea"]}), file)
    for said in (
        fails(lambda: count_column(file, DRINK, "drink", reported=True, unknown="tea")),
        fails(lambda: encode_file(file, out, SURVEY, DRINK, "drink", unknown="tea")),
    ):
        assert re.search(r"people\.parquet: a column of type binary does not contain labels", said)
    assert not out.exists()


def fails(work: Callable[[], object]) -> str:
    with pytest.raises(ValueError, match=r".") as error:
        work()
    return str(error.value)


def test_errors_give_file_and_line_and_name_keywords_which_a_command_writes_as_options(
    folder: Path,
) -> None:
    csv, text = folder / "people.csv", folder / "lines.txt"
    text.write_text("tea\n\nchai\n")
    out = folder / "out.bin"
    for said, told in (
        (fails(lambda: count_column(csv, DRINK)), "has columns: add --column with a name"),
        (fails(lambda: count_column(text, DRINK, "x")), "has no columns: add --format csv, tsv"),
        (
            fails(lambda: encode_file(text, out, SURVEY, DRINK)),
            "lines.txt, line 2: the answer is missing: leave such answers out with "
            "--drop-missing, or name a label for them with --missing",
        ),
        (
            fails(lambda: encode_file(text, out, SURVEY, DRINK, missing="tea")),
            "lines.txt, line 3: this is not an answer to 'drink'; answers are 'tea', 'mate', "
            "'gin': correct it, or name a label for such answers with --unknown",
        ),
        (
            fails(lambda: count_column(csv, DRINK, "drink", drop_missing=True)),
            "--drop-missing is for labels that were randomised already: add --reported, or",
        ),
        (
            fails(lambda: count_column(csv, DRINK, "drink")),
            "people.csv, line 2: this is a label, not a report: if the answers were randomised "
            "already, on paper or by telephone, add --reported; if not, run murmurs encode first",
        ),
        (
            fails(lambda: encode_table(csv, folder / "t.csv", SURVEY, keep=["drink"])),
            "--keep drink: that column is encoded, and its answers do not go out",
        ),
    ):
        assert "--" not in said
        assert re.search(r"`\w+=[^`]*`", said)
        assert told in in_options(said)
    assert not out.exists()


def test_what_looks_like_a_keyword_in_a_persons_text_stays_as_it_is() -> None:
    for text in ("KRR(k=4, epsilon=1.0)", "drink=tea is not", "the column `a`, or `b=`c"):
        assert in_options(text).replace("--b", "`b=`") == text


def test_no_function_overwrites_what_it_reads(folder: Path) -> None:
    people, link = folder / "people.csv", folder / "link.csv"
    link.symlink_to(people)
    for output in (people, link):
        with pytest.raises(ValueError, match="which is read too; give the output"):
            encode_file(people, output, SURVEY, DRINK, "drink")
        with pytest.raises(ValueError, match="which is read too; give the output"):
            encode_table(people, output, SURVEY)
    protected = folder / "survey.json"
    with pytest.raises(ValueError, match=r"survey.json: it is .*survey.json, which is read too"):
        encode_file(people, protected, SURVEY, DRINK, "drink", protected=[protected])
    assert people.read_text() == ROWS


def test_a_table_has_a_name_that_gives_its_format(folder: Path) -> None:
    for name in ("private.xls", "private", "private.csv.gz"):
        with pytest.raises(ValueError, match=r"ends in \.parquet, \.csv, \.tsv or \.jsonl"):
            encode_table(folder / "people.csv", folder / name, SURVEY)
        assert not (folder / name).exists()


def test_one_column_is_kept_by_its_name(folder: Path) -> None:
    found = encode_table(folder / "people.csv", folder / "out.csv", SURVEY, keep="region")
    assert found.keep == ("region",)
    with pytest.raises(ValueError, match=r"no column called 'regon' .*: correct the name, or name"):
        encode_table(folder / "people.csv", folder / "out.csv", SURVEY, keep="regon")


def test_arguments_of_another_kind_are_refused_with_what_is_meant(folder: Path) -> None:
    people, out = folder / "people.csv", folder / "out.bin"
    said = r"must be a Question, a Dictionary or a Joint, such as survey\['drink'\], not of type "
    with pytest.raises(TypeError, match=said + "str"):
        encode_file(people, out, SURVEY, "drink", "drink")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=said + "str"):
        read_people(people, "drink")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=said + "Survey"):
        count_column(people, SURVEY, "drink")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"as \{'drink': 'beverage'\}, .* not \['drink'\]"):
        encode_table(people, folder / "out.csv", SURVEY, ["drink"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="keyword 'delimeter': did you mean 'delimiter'"):
        count_column(people, DRINK, "drink", delimeter=";")  # type: ignore[call-arg]
    assert not out.exists()
