"""What every kind of question promises, from the survey's file to a result of the collector.

A kind joins by a case in `CASES`; the toy kind of `rating` is one of them.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from murmurs import Client, Counts, Survey
from murmurs.cli import main
from murmurs.collect.results.compute import Counted, Options, Task, compute
from murmurs.collect.stores import open_store
from murmurs.collect.stores.store import Part
from murmurs.files.counts import read_counts, write_counts
from murmurs.files.reports import read_reports, write_reports
from murmurs.questions.asked import Asked
from murmurs.questions.dictionary.dictionary import Dictionary, DictionaryEntry
from murmurs.questions.entry import Entry, QuestionEntry
from murmurs.questions.joint.entry import JointEntry
from murmurs.questions.kinds import KINDS, asked_from_document
from murmurs.questions.several.entry import SeveralEntry
from murmurs.submission import SubmissionForm
from murmurs.survey.changes import compare_surveys
from murmurs.survey.promise import promise
from murmurs.survey.rounds import rounds_of
from tests.questions.rating import RatingEntry, rating_listed


@dataclass(frozen=True)
class Case:
    """A question of a kind: its entries, two answers, what is no answer, and an edit."""

    kind: type[Entry]
    name: str
    toml: str
    answers: tuple[Any, Any]
    """By the names of the questions; the first is the commoner one."""
    bad: dict[str, Any]
    people: Any
    """Ten thousand people for `simulate`, of whom 7,000 hold the first answer."""
    labels: tuple[str, str]
    """What tables call the two answers."""
    edit: tuple[str, str]
    """Text of the entries, and what makes other reports of it."""
    candidates: Any = None

    @property
    def shown(self) -> str:
        """What every table of shares or of combinations shows."""
        return self.labels[0].partition(" × ")[0]


DRINK = """
[[questions]]
name = "drink"
labels = ["tea", "mate", "rum"]
epsilon = 3.0
"""

CASES = {
    "labels": Case(
        QuestionEntry,
        "drink",
        DRINK,
        ({"drink": "tea"}, {"drink": "mate"}),
        {"drink": "secret"},
        {"tea": 7000, "mate": 3000},
        ("tea", "mate"),
        ('"mate", "rum"', '"rum", "mate"'),
    ),
    "numbers": Case(
        QuestionEntry,
        "age",
        '[[questions]]\nname = "age"\nrange = [0, 69]\nwidth = 10\nepsilon = 3.0',
        ({"age": 35}, {"age": 9}),
        {"age": 71},
        {31: 3500, "30 to 39": 3500, 5: 3000},
        ("30 to 39", "0 to 9"),
        ("69", "68"),
    ),
    "scores": Case(
        QuestionEntry,
        "meal",
        '[[questions]]\nname = "meal"\nlabels = ["good", "fair", "bad"]\nordered = true\n'
        "scores = [1, 2, 5]\nepsilon = 3.0",
        ({"meal": "good"}, {"meal": "bad"}),
        {"meal": "secret"},
        {"good": 7000, "bad": 3000},
        ("good", "bad"),
        ('"good", "fair"', '"fair", "good"'),
    ),
    "strings": Case(
        QuestionEntry,
        "pet",
        '[[questions]]\nname = "pet"\n'
        'mechanism = {name = "ORR", epsilon = 3.0, width = 16, cohorts = 16}',
        ({"pet": "Luna"}, {"pet": "Leo"}),
        {"pet": 71},
        {"Luna": 7000, "Leo": 3000},
        ("Luna", "Leo"),
        ("width = 16", "width = 8"),
        candidates=("Luna", "Leo"),
    ),
    "dictionary": Case(
        DictionaryEntry,
        "word",
        '[[questions]]\nname = "word"\n'
        'mechanism = {name = "Dictionary", epsilon = 6.0, longest = 3, letters = 4}',
        ({"word": "tea"}, {"word": "mat"}),
        {"word": 71},
        {"tea": 7000, "mat": 3000},
        ("tea", "mat"),
        ("longest = 3", "longest = 4"),
        candidates=("tea", "mat"),
    ),
    "joint": Case(
        JointEntry,
        "drink+sugar",
        DRINK
        + '[[questions]]\nname = "sugar"\nlabels = ["yes", "no"]\nepsilon = 3.0\n'
        + '[[joint]]\nname = "drink+sugar"\nquestions = ["drink", "sugar"]',
        ({"drink": "tea", "sugar": "no"}, {"drink": "mate", "sugar": "yes"}),
        {"drink": "tea", "sugar": "secret"},
        {("tea", "no"): 7000, ("mate", "yes"): 3000},
        ("tea × no", "mate × yes"),
        ('["drink", "sugar"]', '["sugar", "drink"]'),
    ),
    "combination": Case(
        JointEntry,
        "both",
        DRINK
        + '[[questions]]\nname = "sugar"\nlabels = ["yes", "no"]\nepsilon = 3.0\n'
        + '[[joint]]\nname = "both"\nquestions = ["drink", "sugar"]\nonce = true\nepsilon = 4.0',
        ({"drink": "tea", "sugar": "no"}, {"drink": "mate", "sugar": "yes"}),
        {"drink": "secret", "sugar": "no"},
        {("tea", "no"): 7000, ("mate", "yes"): 3000},
        ("tea × no", "mate × yes"),
        ("epsilon = 4.0", "epsilon = 5.0"),
    ),
    "several": Case(
        SeveralEntry,
        "owns",
        '[[questions]]\nname = "owns"\nlabels = ["car", "bike", "boat"]\nepsilon = 4.0\n'
        "several = true\nmost = 2",
        ({"owns": ["car"]}, {"owns": "bike;boat"}),
        {"owns": ["secret"]},
        {"car": 7000, ("bike", "boat"): 3000},
        ("car", "bike"),
        ("most = 2", "most = 1"),
    ),
    "one of several": Case(
        SeveralEntry,
        "owns",
        '[[questions]]\nname = "owns"\nlabels = ["car", "bike", "boat"]\n'
        'several = true\nmechanism = {name = "OneLabel", epsilon = 4.0}',
        ({"owns": ["car"]}, {"owns": "bike;boat"}),
        {"owns": ["secret"]},
        {"car": 7000, ("bike", "boat"): 3000},
        ("car", "bike"),
        ('"bike", "boat"', '"boat", "bike"'),
    ),
    "rating": Case(
        RatingEntry,
        "meal",
        '[[questions]]\nname = "meal"\nstars = 5\nepsilon = 3.0',
        ({"meal": 5}, {"meal": 1}),
        {"meal": 71},
        [3000, 0, 0, 0, 7000],
        ("5 stars", "1 star"),
        ("stars = 5", "stars = 4"),
    ),
}


@pytest.fixture(autouse=True)
def _listed() -> Iterator[None]:
    with rating_listed():
        yield


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def survey_of(toml: str) -> Survey:
    return Survey.from_toml(f'name = "s"\n{toml}')


@pytest.fixture
def survey(case: Case) -> Survey:
    return survey_of(case.toml)


@pytest.fixture
def asked(survey: Survey, case: Case) -> Asked:
    return survey[case.name]


def many(asked: Asked, case: Case, n: int) -> Any:
    """Return a column of answers, or columns by name, 70 % of them the first answer."""
    people = [case.answers[0]] * (7 * n // 10) + [case.answers[1]] * (3 * n // 10)
    columns = {name: [answer[name] for answer in people] for name in asked.names}
    return asked.pick(columns)


def shares(asked: Asked, case: Case, counts: Counts) -> tuple[float, float]:
    candidates: Any = case.candidates
    found = asked.estimate(counts, candidates=candidates)
    first, second = (float(found.unbiased[found.labels.index(own)]) for own in case.labels)
    return first, second


def close(found: tuple[float, float]) -> bool:
    """Within 0.1: noise is further off below once in 1e6 (5 standard errors), a swap always."""
    return bool(np.allclose(found, (0.7, 0.3), atol=0.1))


def test_every_kind_that_is_listed_has_a_case() -> None:
    assert {case.kind for case in CASES.values()} == set(KINDS)


def test_an_entry_is_read_in_its_kind(case: Case, survey: Survey) -> None:
    asked = survey[case.name]
    again = survey_of(case.toml)[case.name]
    assert (asked, hash(asked)) == (again, hash(again))
    assert asked.name == case.name
    assert asked.names == tuple(case.answers[0])
    assert tuple(question.name for question in asked.questions) == asked.names
    assert asked.epsilon == asked.mechanism.epsilon > 0
    assert isinstance(asked, Dictionary) is asked.searches


def test_the_document_is_read_back_with_the_same_fingerprint(survey: Survey) -> None:
    again = Survey.from_json(survey.to_json())
    assert again == survey
    assert again.fingerprint == survey.fingerprint
    assert again.to_json() == survey.to_json()


def test_a_question_says_whether_it_consists_of_several(asked: Asked, case: Case) -> None:
    assert asked.is_joint == (len(asked.names) > 1) == (case.kind is JointEntry)


def test_a_document_whole_in_itself_is_read_back(asked: Asked) -> None:
    assert asked_from_document(asked.to_document()) == asked


def test_an_unknown_field_is_refused_with_those_of_the_kind(case: Case) -> None:
    fields = ", ".join(case.kind.__struct_fields__)
    with pytest.raises(ValueError, match="unknown field 'colour'; the fields of") as error:
        survey_of(f"{case.toml}\ncolour = 1")
    assert fields in str(error.value)
    with pytest.raises(ValueError, match="did you mean 'epsilon'"):
        survey_of(f"{case.toml}\nepsilom = 1.0")


def test_a_value_of_another_type_is_refused_with_its_place(case: Case) -> None:
    place = rf"Expected `str.*`, got `int` - at `\$\.{case.kind.section}\[0\]\.name`"
    with pytest.raises(ValueError, match=place):
        survey_of(case.toml.replace(f'name = "{case.name}"', "name = 5"))


def test_an_answer_is_encoded_packed_counted_and_estimated(asked: Asked, case: Case) -> None:
    rng = np.random.default_rng(1)
    shape = asked.mechanism.shape
    packed = b"".join(
        shape.pack(asked.encode(asked.pick(answer), rng))
        for answer, times in zip(case.answers, (1400, 600), strict=True)
        for _ in range(times)
    )
    counts = asked.count(packed)
    assert counts.n == 2000
    assert close(shares(asked, case, counts))


def test_many_answers_are_encoded_at_once(asked: Asked, case: Case) -> None:
    reports = asked.encode_many(many(asked, case, 3000), np.random.default_rng(1))
    assert reports.dtype == asked.mechanism.shape.empty(0).dtype
    assert close(shares(asked, case, asked.count(reports)))
    column = asked.encode_column(many(asked, case, 10), np.random.default_rng(1))
    assert asked.count(column).n == 10


def test_a_population_is_drawn(asked: Asked, case: Case) -> None:
    counts = asked.simulate(case.people, np.random.default_rng(1))
    assert counts.n == 10_000
    assert close(shares(asked, case, counts))


def test_results_show_the_answers_by_their_labels(asked: Asked, case: Case) -> None:
    counts = asked.simulate(case.people, np.random.default_rng(1))
    candidates: Any = case.candidates
    found = asked.results(counts, {}, candidates=candidates)
    assert case.shown in str(found)
    if not asked.needs_candidates:
        assert case.shown in str(asked.results(counts, {"alphabet": "aemt"}))


def test_what_is_no_answer_is_refused_and_never_quoted(asked: Asked, case: Case) -> None:
    bad = asked.pick(case.bad)
    for refused in (asked.answer, asked.encode):
        with pytest.raises((ValueError, TypeError)) as error:
            refused(bad)
        assert "secret" not in str(error.value)
        assert "71" not in str(error.value)
    column = asked.pick({name: [value] * 5 for name, value in case.bad.items()})
    with pytest.raises((ValueError, TypeError), match="answer number 0") as error:
        asked.encode_many(column)
    assert "secret" not in str(error.value)
    assert "71" not in str(error.value)


def test_files_of_reports_and_of_counts_are_read_back(
    survey: Survey, asked: Asked, case: Case, tmp_path: Path
) -> None:
    reports = asked.encode_many(many(asked, case, 100), np.random.default_rng(1))
    write_reports(tmp_path / "reports", survey, asked, [reports])
    question, parts = read_reports(tmp_path / "reports", survey)
    assert question == asked
    assert np.array_equal(np.concatenate(list(parts)), reports)
    counts = asked.count(reports)
    write_counts(tmp_path / "counts", survey, asked, counts)
    assert read_counts(tmp_path / "counts") == (asked, counts)
    assert read_counts(tmp_path / "counts", survey) == (asked, counts)


def test_a_submission_of_a_client_is_stored_and_counted(
    survey: Survey, asked: Asked, case: Case, tmp_path: Path
) -> None:
    client, form = Client(survey, {}), SubmissionForm(survey)
    with pytest.raises((ValueError, TypeError)) as error:
        client.answer(case.bad)
    assert "secret" not in str(error.value)
    assert client.queued == 0
    sent = [client.answer(case.answers[0]), Client(survey, {}).answer(case.answers[1])]
    assert float(client.spent) == pytest.approx(asked.mechanism.epsilon_realised)
    with contextlib.closing(open_store(str(tmp_path / "store"))) as store:
        store.publish(survey, 1)
        for own in sent:
            assert form.from_json(form.to_json(own)) == form.from_bytes(form.to_bytes(own)) == own
            store.add([own], 1)
        assert store.counts(Part(survey.fingerprint, asked.name)).n == 2
        assert survey.to_json() == store.collections()[0].survey.to_json()


def test_a_result_is_computed_from_what_was_collected(
    survey: Survey, asked: Asked, case: Case
) -> None:
    counts = asked.simulate(case.people, np.random.default_rng(1))
    once = rounds_of({datetime.date(2026, 1, 1): counts.n}, survey.terms, "different")
    for name in {asked.name, *asked.names}:
        options = Options(alphabet="aemt", candidates=case.candidates)
        counted = Counted("", counts.n, counts.cells, once)
        task = Task(survey.to_json(), name, "estimate", (counted,), options)
        found = compute(task, lambda _: None)
        assert found.document["reports"] == 10_000
        assert case.shown in (found.text or "") or name == "sugar"


def test_an_edit_that_makes_other_reports_breaks_what_was_collected(
    survey: Survey, case: Case
) -> None:
    assert compare_surveys(survey, survey_of(case.toml)).addable == (case.name,)
    edited = survey_of(case.toml.replace(*case.edit))
    compared = compare_surveys(survey, edited)
    assert {change.kind for change in compared.changes} == {"breaks"}
    assert compared.addable == ()
    assert compared.refused


def test_what_a_report_reveals_is_promised(survey: Survey, asked: Asked) -> None:
    assert f"(epsilon {asked.epsilon:g})" in promise(survey, asked)


def test_publish_prints_a_row(asked: Asked, case: Case, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f'name = "s"\n{case.toml}')
    ran = CliRunner().invoke(main, ["publish", f"{tmp_path}/s.toml", "-o", f"{tmp_path}/s.json"])
    rows = {line.split()[0]: line.split() for line in ran.output.splitlines() if line.split()}
    answers = "any" if asked.is_open else str(len(asked.labels))
    mechanism, size = type(asked.mechanism).__name__, f"{asked.mechanism.shape.size}"
    row = rows[case.name]
    assert (row[1:4], row[-1]) == ([answers, mechanism, f"{asked.epsilon:g}"], size)


def test_each_name_is_a_part_of_what_is_asked(asked: Asked) -> None:
    assert asked.part(asked.name) is asked
    for name, question in zip(asked.names, asked.questions, strict=True):
        own = asked.part(name)
        assert own is None or own == question
