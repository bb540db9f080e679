"""Results over HTTP are those of the library, above the minimum only."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import murmurs as mm
from murmurs.collect.http import headings
from murmurs.collect.http.collector import Settings
from murmurs.collect.http.limits import Limits
from murmurs.collect.http.routes import results
from murmurs.collect.results.compute import Progress, Result, Task, compute, is_long
from murmurs.collect.results.jobs import MOST_ROWS, Jobs
from murmurs.collect.results.worker import Worker
from murmurs.collect.stores.store import Part
from murmurs.questions.dictionary.letters import ALPHABET
from murmurs.submission import SubmissionForm
from murmurs.survey.promise import promise
from murmurs.survey.survey import Survey
from tests.collect.running import DAY, Reply, Running, running

SURVEY = Survey.from_toml(
    """
    name = "cafe"
    segments = ["north", "south"]

    [[questions]]
    name = "drink"
    labels = ["tea", "coffee", "water"]
    mechanism = {name = "KRR", epsilon = 3.0}

    [[questions]]
    name = "cat"
    mechanism = {name = "ORR", epsilon = 3.0, width = 16, cohorts = 16}

    [[questions]]
    name = "word"
    mechanism = {name = "Dictionary", epsilon = 6.0, longest = 4}

    [[questions]]
    name = "age"
    labels = ["young", "old"]
    mechanism = {name = "KRR", epsilon = 2.0}

    [[questions]]
    name = "dog"
    mechanism = {name = "ORappor", epsilon = 4.0, width = 16, cohorts = 4, hashes = 2}

    [[questions]]
    name = "sugar"
    labels = ["yes", "no"]
    mechanism = {name = "KRR", epsilon = 2.0}

    [[questions]]
    name = "milk"
    labels = ["yes", "no"]
    mechanism = {name = "KRR", epsilon = 2.0}

    [[joint]]
    name = "age+dog"
    questions = ["age", "dog"]

    [[joint]]
    name = "sugar+milk"
    questions = ["sugar", "milk"]
    once = true
    """
)
FORM = SubmissionForm(SURVEY)
PEOPLE = 3000


def columns(seed: int, shift: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    tea = 0.6 - shift
    age = rng.choice(["young", "old"], PEOPLE)
    dog = np.where((age == "young") & (rng.random(PEOPLE) < 0.9), "Rex", "Ada")
    sugar = rng.choice(["yes", "no"], PEOPLE)
    answers: dict[str, Any] = {
        "drink": rng.choice(
            ["tea", "coffee", "water"], PEOPLE, p=[tea, 0.4 - tea / 3, 0.6 - 2 * tea / 3]
        ),
        "cat": rng.choice(["Luna", "Leo"], PEOPLE, p=[0.7, 0.3]),
        "word": rng.choice(["moka", "latte"], PEOPLE, p=[0.6, 0.4]),
        "age+dog": {"age": age, "dog": dog},
        "sugar+milk": {"sugar": sugar, "milk": sugar},
    }
    return {unit.name: unit.encode_many(answers[unit.name], rng) for unit in SURVEY.reported}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Three weeks, in each of which both segments report; tea loses from week to week."""
    with running(tmp_path_factory.mktemp("results"), SURVEY) as found:
        for week in range(3):
            found.clock.day = DAY + 7 * week
            for number, segment in enumerate(SURVEY.segments):
                sent = FORM.make(columns(10 * week + number, 0.1 * week), segment=segment)
                assert found.send(sent, SURVEY, binary=True).status == 200
        yield found


@pytest.fixture(scope="module")
def token(served: Running) -> str:
    return served.token("read")


def waited(served: Running, path: str, token: str, body: Any = None) -> Reply:
    """Ask until the result is there."""
    for _ in range(300):
        reply = served.get(path, token) if body is None else served.post(path, body, token)
        if reply.status != 202:
            return reply
        assert reply.document["status"] == "computing"
        assert 0 <= reply.document["progress"] <= 1
        assert int(reply.headers["retry-after"]) >= 1
        time.sleep(0.1)
    raise AssertionError("the result took too long")


def counts(served: Running, question: str, **part: Any) -> mm.Counts:
    return served.store.counts(Part(SURVEY.fingerprint, question, **part))


def test_an_estimate_is_that_of_the_library(served: Running, token: str) -> None:
    reply = served.get("/results/cafe/drink?level=0.9&method=simplex&target=respondents", token)
    found = reply.document
    estimate = SURVEY.question("drink").estimate(counts(served, "drink"), "simplex")
    wanted = estimate.to_document(0.9, "respondents")
    assert found["reports"] == 6 * PEOPLE
    assert (found["survey"], found["question"], found["method"]) == ("cafe", "drink", "simplex")
    for name in ("labels", "shares", "low", "high", "unbiased", "notes"):
        assert found[name] == wanted[name]


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("segment=north", {"segment": "north"}),
        ("from=2026-12-20", {"first_day": DAY + 7}),
        ("to=2026-12-13", {"last_day": DAY}),
        (
            "from=2026-12-14&to=2026-12-21&segment=south",
            {"segment": "south", "first_day": DAY + 1, "last_day": DAY + 8},
        ),
    ],
)
def test_periods_and_segments_select_their_reports(
    served: Running, token: str, query: str, part: dict[str, Any]
) -> None:
    found = served.get(f"/results/cafe/drink?{query}", token).document
    selected = counts(served, "drink", **part)
    assert 0 < selected.n < 6 * PEOPLE
    assert found["reports"] == selected.n
    assert found["shares"] == SURVEY.question("drink").estimate(selected).shares.tolist()


def test_the_same_table_comes_as_csv_and_arrow(served: Running, token: str) -> None:
    estimate = SURVEY.question("drink").estimate(counts(served, "drink"))
    reply = served.get("/results/cafe/drink?format=csv", token)
    assert reply.headers["content-type"].startswith("text/csv")
    rows = estimate.to_csv().splitlines()
    assumed = [f"{row},{'different' if number else 'people'}" for number, row in enumerate(rows)]
    assert reply.body.decode().splitlines() == assumed
    reply = served.get("/results/cafe/drink?format=arrow", token)
    table = pa.ipc.open_stream(io.BytesIO(reply.body)).read_all()
    assert table.drop_columns("people").equals(estimate.to_arrow())


def test_the_promise_is_written_only_for_a_result_as_text(
    served: Running, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[object] = []

    def promised(survey: object, asked: object) -> str:
        written.append(asked)
        return "kept"

    monkeypatch.setattr(headings, "promise", promised)
    for form, times in (("json", 0), ("csv", 0), ("arrow", 0), ("text", 1)):
        assert served.get(f"/results/cafe/drink?format={form}&level=0.8", token).status == 200
        assert len(written) == times


def test_a_result_as_text_has_the_table_and_the_promise(served: Running, token: str) -> None:
    question = SURVEY.question("drink")
    estimate = question.estimate(counts(served, "drink"))
    first = served.get("/results/cafe/drink?level=0.9", token)  # kept, and without text
    reply = served.get("/results/cafe/drink?format=text&level=0.9", token)
    assert served.get("/results/cafe/drink?level=0.9", token).body == first.body
    assert reply.headers["content-type"].startswith("text/plain")
    text = reply.body.decode()
    assert text.startswith(f"drink\n{6 * PEOPLE:,} reports\n\n{estimate.table(level=0.9)}\n\n")
    assert " ".join(text.split()).endswith(
        "Privacy: " + " ".join(promise(SURVEY, question).split())
    )
    path = "/results/cafe/drink/compare?segment=north&other_segment=south&format=text"
    compared = served.get(path, token).body.decode()
    assert compared.startswith(f"drink\n{3 * PEOPLE:,} and {3 * PEOPLE:,} reports\n\nanswer")
    assert "north minus south, overall test" in compared
    weeks = served.get("/results/cafe/drink/trend?format=text&segment=north", token).body.decode()
    assert f"{3 * PEOPLE:,} reports in 3 periods, segment north\n" in weeks
    joint = waited(served, "/results/cafe/sugar+milk?format=text", token).body.decode()
    assert "sugar ╲ milk" in joint
    assert "The answers go together: p < 1e-6" in joint
    found = waited(served, "/results/cafe/word?format=text", token).body.decode()
    assert "moka" in found
    assert "2 strings found" in found


def test_candidates_come_in_the_query_or_in_the_body(served: Running, token: str) -> None:
    asked = served.get("/results/cafe/cat?candidates=Luna&candidates=Leo", token).document
    posted = served.post("/results/cafe/cat", ["Luna", "Leo"], token).document
    wanted = SURVEY.question("cat").estimate(counts(served, "cat"), candidates=["Luna", "Leo"])
    assert asked["shares"] == posted["shares"] == wanted.shares.tolist()
    assert asked["labels"] == ["Luna", "Leo", "(other)"]
    assert served.get("/results/cafe/cat", token).status == 400  # it needs candidates
    assert served.get("/results/cafe/drink?candidates=tea", token).status == 400


@pytest.mark.parametrize(
    ("path", "way_out"),
    [
        ("cat", "with candidates=Luna&candidates=Leo in the query, or POST a list"),
        ("cat/trend", "with candidates=Luna&candidates=Leo in the query, or POST a list"),
        ("word/trend", "with candidates=Luna&candidates=Leo in the query, or POST a list"),
        (
            "word/compare?segment=north&other_segment=south",
            "with candidates=Luna&candidates=Leo in the query, or POST a list",
        ),
        ("age+dog", """POST the strings to look for, as {"dog": ["Luna", "Leo"]}, for 'dog'"""),
        ("drink?method=joint", "use method=shrinkage"),
    ],
)
def test_refusals_name_what_a_request_can_have(
    served: Running, token: str, path: str, way_out: str
) -> None:
    """They do not name what the library takes; and no search begins that would be for nothing."""
    reply = waited(served, f"/results/cafe/{path}", token)
    assert (reply.status, reply.error) == (400, "query")
    assert reply.document["reason"].endswith(way_out)
    assert "[...]" not in reply.document["reason"]


def test_strings_of_the_default_alphabet_are_no_formulas_of_spreadsheets() -> None:
    """One that does something needs one of these; strings of a dictionary come from anybody."""
    assert not set(ALPHABET) & set("=+@(!|\t\r\n")


def test_a_trend_and_a_comparison_are_those_of_the_library(served: Running, token: str) -> None:
    question = SURVEY.question("drink")
    weeks = [
        question.estimate(counts(served, "drink", first_day=day, last_day=day))
        for day in (DAY, DAY + 7, DAY + 14)
    ]
    found = served.get("/results/cafe/drink/trend?by=week", token).document
    wanted = mm.trend(weeks)
    assert found["periods"] == ["2026-12-07", "2026-12-14", "2026-12-21"]
    assert found["shares"] == wanted.shares[wanted.order].tolist()
    assert found["p_value"] == wanted.p_value
    assert found["reports"] == [2 * PEOPLE] * 3
    assert (
        served.get("/results/cafe/drink/trend?by=day", token).document["reports"]
        == [2 * PEOPLE] * 3
    )
    one = served.get("/results/cafe/drink/trend?by=month", token)
    assert (one.status, one.error) == (404, "few")
    assert "shown from 1 report on" in one.document["reason"]

    found = served.get(
        "/results/cafe/drink/compare?segment=north&other_segment=south", token
    ).document
    sides = [question.estimate(counts(served, "drink", segment=s)) for s in SURVEY.segments]
    difference = sides[0].difference(sides[1], names=("north", "south"))
    assert found["change"] == difference.shares.tolist()
    assert (found["p_value"], found["names"]) == (difference.p_value, ["north", "south"])
    found = served.get(
        "/results/cafe/drink/compare?from=2026-12-01&to=2026-12-13&other_from=2026-12-26", token
    ).document
    assert found["change"] == weeks[0].difference(weeks[2]).shares.tolist()


@pytest.mark.parametrize(
    "query",
    [
        "segment=north",
        "segment=north&other_segment=north",
        "other_segment=north",
        "from=2026-12-01&other_from=2026-12-05",
        "from=2026-12-09&to=2026-12-01&other_from=2027-01-01",
        "segment=east&other_segment=north",
    ],
)
def test_sides_with_reports_in_common_are_not_compared(
    served: Running, token: str, query: str
) -> None:
    assert served.get(f"/results/cafe/drink/compare?{query}", token).status == 400


def test_a_comparison_without_scipy_is_refused_with_the_way_out(
    served: Running, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    path = "/results/cafe/drink/compare?segment=north&other_segment=south&level=0.9"
    reply = served.get(path, token)
    assert (reply.status, reply.error) == (400, "query")
    assert "SciPy" in reply.document["reason"]


def test_a_dictionary_is_searched_by_the_worker(served: Running, token: str) -> None:
    found = waited(served, "/results/cafe/word", token).document
    wanted = mm.discover(counts(served, "word"))
    assert found["found"] == list(wanted.labels) != []
    assert found["estimate"]["shares"] == wanted.estimate.shares.tolist()  # type: ignore[union-attr]
    assert waited(served, "/results/cafe/word?format=csv", token).body.startswith(b"answer,share")
    text = waited(served, "/results/cafe/word?format=text", token).body.decode()
    assert "Note: 2 strings have 4 letters, the most that were asked for, and may go on." in text
    assert waited(served, "/results/cafe/word?alphabet=a-z", token).status == 400


def test_joint_tables_come_with_their_tests(served: Running, token: str) -> None:
    body = {"dog": ["Rex", "Ada"]}
    reply = waited(served, "/results/cafe/age%2Bdog", token, body)
    assert reply.status == 200, reply.body
    joint = SURVEY.asked("age+dog")
    wanted = joint.estimate(counts(served, "age+dog"), candidates=body)
    assert np.allclose(reply.document["shares"], wanted.shares)
    assert reply.document["association"]["p_value"] < 1e-6
    likely = waited(served, "/results/cafe/age+dog?method=report_likelihood", token, body).document
    assert likely["method"] == "report_likelihood"
    assert abs(likely["shares"][0] - 0.45) < 0.1
    assert waited(served, "/results/cafe/age+dog", token).status == 400  # it needs candidates
    once = waited(served, "/results/cafe/sugar+milk", token).document
    assert once["shares"][0] + once["shares"][3] > 0.9


def test_a_question_of_a_joint_has_results_of_its_own(served: Running, token: str) -> None:
    found = served.get("/results/cafe/age", token).document
    margin = SURVEY.question("age").estimate(counts(served, "age+dog").margin(0))
    assert found["shares"] == margin.shares.tolist()
    found = served.get("/results/cafe/dog?candidates=Rex&candidates=Ada", token).document
    assert found["shares"][0] == pytest.approx(0.45, abs=0.1)
    found = served.get("/results/cafe/milk", token).document
    assert found["labels"] == ["yes", "no"]


def test_the_likelihood_of_reports_is_for_the_table_that_they_are_of(
    served: Running, token: str
) -> None:
    """Reports to two questions are none to one of them, though their bytes might look so."""
    query = "?method=report_likelihood"
    found = waited(served, f"/results/cafe/age+dog{query}", token, {"dog": ["Rex", "Ada"]})
    assert (found.status, found.document["reports"]) == (200, 6 * PEOPLE)
    for path, body in (("age", None), ("dog", ["Rex"]), ("dog/trend", ["Rex"])):
        reply = waited(served, f"/results/cafe/{path}{query}", token, body)
        assert (reply.status, reply.error) == (400, "query")
        assert "for the table of 'age+dog'" in reply.document["reason"]
    reply = waited(served, f"/results/cafe/drink{query}", token)
    assert "are not kept, as counts suffice" in reply.document["reason"]


def test_the_likelihood_of_more_reports_than_fit_in_memory_is_refused(tmp_path: Path) -> None:
    """Otherwise the memory of the collector would grow with the population."""
    settings = Settings(Limits(reports=PEOPLE))
    with running(tmp_path, SURVEY, settings=settings) as served:
        token, path = served.token("read"), "/results/cafe/age+dog?method=report_likelihood"
        form = FORM.make(columns(1, 0.0), segment="north")
        assert served.send(form, SURVEY, binary=True).status == 200
        assert waited(served, path, token, {"dog": ["Rex"]}).status == 200
        other = FORM.make(columns(2, 0.0), segment="north")
        assert served.send(other, SURVEY, binary=True).status == 200
        reply = waited(served, f"{path}&to=2100-01-01", token, {"dog": ["Rex"]})
        assert (reply.status, reply.error) == (400, "query")
        assert f"takes at most {PEOPLE:,} reports" in reply.document["reason"]


def test_what_may_take_long_is_not_computed_where_submissions_are_taken() -> None:
    """A trend of a thousand answers over twenty weeks takes ten seconds of a processor."""
    labels = [f"label {number}" for number in range(1000)]
    many = mm.Survey("many", (mm.Question("q", labels, epsilon=1.0), SURVEY.question("drink")))
    assert not is_long(many, "q", 0, "estimate")
    assert is_long(many, "q", 0, "trend")
    assert is_long(many, "q", 0, "estimate", "em")
    assert not is_long(many, "drink", 0, "estimate", "em")
    assert is_long(many, "q", 0, "compare")
    assert not is_long(many, "drink", 0, "trend")
    assert is_long(SURVEY, "cat", 101, "trend")
    assert is_long(SURVEY, "age+dog", 0, "estimate")


def test_those_who_wait_for_a_result_keep_nobody_else_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are few threads, and large submissions need them."""
    monkeypatch.setattr(results, "WAIT", 10.0)
    go_on = threading.Event()

    def slow(*_: object) -> Result:
        go_on.wait(20)
        raise ValueError("enough")

    with running(tmp_path, SURVEY) as served:
        monkeypatch.setattr(Worker, "run", slow)
        served.send(FORM.make(columns(1, 0.0), segment="north"), SURVEY, binary=True)
        token = served.token("read")
        asks = [
            threading.Thread(target=served.get, args=["/results/cafe/word", token])
            for _ in range(40)
        ]
        for ask in asks:
            ask.start()
        while len(served.collector.jobs) == 0:
            time.sleep(0.01)
        time.sleep(0.3)
        assert served.get("/ready").status == 200
        still = [ask.is_alive() for ask in asks]
        go_on.set()
        for ask in asks:
            ask.join()
    assert all(still)


def test_results_that_are_kept_have_few_rows_together() -> None:
    jobs = Jobs()
    for number in range(5):
        jobs.keep(number, 1, Result({}, {"share": range(MOST_ROWS // 2)}, ""))
    assert [number for number in range(5) if jobs.find(number, 1)] == [3, 4]
    jobs.keep("large", 1, Result({}, {"share": range(2 * MOST_ROWS)}, ""))
    assert jobs.find("large", 1)
    assert not jobs.find(4, 1)


def test_a_summary_says_how_much_there_is(served: Running, token: str) -> None:
    found = served.get("/results/cafe", token).document
    assert found["questions"] == {unit.name: 6 * PEOPLE for unit in SURVEY.reported}
    assert (found["state"], found["minimum_reports"]) == ("open", 1)


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/results/cafe/tea", 404, "question"),
        ("/results/cafe/drink?segment=east", 400, "segment"),
        ("/results/cafe/drink?level=2", 400, "query"),
        ("/results/cafe/drink?level=nan", 400, "query"),
        ("/results/cafe/drink?method=magic", 400, "query"),
        ("/results/cafe/drink?method=report_likelihood", 400, "query"),
        ("/results/cafe/drink?colour=red", 400, "query"),
        ("/results/cafe/drink?level=0.9&level=0.8", 400, "query"),
        ("/results/cafe/drink?from=2026-12-20&to=2026-12-01", 400, "query"),
        ("/results/cafe/drink?from=2020-01-01&to=2020-01-02", 404, "few"),
        ("/results/cafe/drink?version=9", 404, "survey"),
        ("/results/cafe/drink?format=xml", 400, "query"),
        ("/results/cafe/drink?version=null", 400, "query"),
        ("/results/cafe?version=null", 400, "query"),
        ("/results/cafe/drink?from=null", 400, "query"),
        ("/results/cafe/drink?to=NULL", 400, "query"),
        ("/results/cafe/drink?method=null", 400, "query"),
        ("/results/cafe/drink?people=null", 400, "query"),
        ("/results/cafe/drink?segment=null", 400, "segment"),
        ("/results/cafe/drink/compare?other_from=null&segment=north", 400, "query"),
        ("/results/cafe/drink?%FF=1", 400, "query"),
    ],
)
def test_a_bad_request_for_results_is_refused_with_the_reason(
    served: Running, token: str, path: str, status: int, error: str
) -> None:
    reply = served.get(path, token)
    if reply.status == 202:
        reply = waited(served, path, token)
    assert (reply.status, reply.error) == (status, error), reply.body


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("drink?format=pdf", "format is 'pdf'; it may be: json, csv, text, arrow"),
        ("drink?people=5", "people is '5'; it may be: different, same"),
        ("drink/trend?by=weekly", "by is 'weekly'; it may be: day, week, month"),
        ("drink?colour=red", "there is no parameter 'colour'; there are: version, from"),
        ("drink?from=null", "'null' is no value of 'from': leave the parameter out for its def"),
        ("drink?from=2026-1-1", "a date is written as 2027-03-31 - at `$.from`"),
        (
            "age+dog",
            """'age+dog' has open questions: POST the strings to look for, as {"dog": ["L""",
        ),
        ("cat", "'cat' is open: say which strings to look for, with candidates=Luna&candidates="),
    ],
)
def test_a_refusal_says_what_is_wrong_and_the_way_out(
    served: Running, token: str, path: str, said: str
) -> None:
    reply = served.get(f"/results/cafe/{path}", token)
    assert reply.status == 400
    assert said in reply.document["reason"]


def test_too_many_candidates_are_refused(served: Running, token: str) -> None:
    many = [f"cat {i}" for i in range(20_001)]
    assert served.post("/results/cafe/cat", many, token).status == 413
    assert served.post("/results/cafe/cat", [""], token).status == 400
    assert served.post("/results/cafe/cat", {"cat": ["Leo"]}, token).status == 400


def test_a_result_is_kept_until_new_reports_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[Task] = []

    def counted(task: Task, progress: Progress) -> Result:
        computed.append(task)
        return compute(task, progress)

    monkeypatch.setattr("murmurs.collect.http.routes.results.compute", counted)
    with running(tmp_path, SURVEY) as served:
        token = served.token("read")
        served.send(FORM.make(columns(1, 0.0), segment="north"), SURVEY, binary=True)
        for form in ("json", "csv", "json"):
            assert served.get(f"/results/cafe/drink?format={form}", token).status == 200
        assert len(computed) == 1
        served.send(FORM.make(columns(2, 0.0), segment="north"), SURVEY, binary=True)
        assert served.get("/results/cafe/drink", token).document["reports"] == 2 * PEOPLE
        assert len(computed) == 2


def test_a_result_of_days_that_are_over_is_computed_once_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever arrives meanwhile; but anew once some of its reports are deleted."""
    computed: list[Task] = []

    def counted(task: Task, progress: Progress) -> Result:
        computed.append(task)
        return compute(task, progress)

    monkeypatch.setattr("murmurs.collect.http.routes.results.compute", counted)
    with running(tmp_path, SURVEY, settings=Settings(complete_days=True)) as served:
        admin = served.token("admin")

        def reports() -> int:
            return int(served.get("/results/cafe/drink", admin).document["reports"])

        for day in range(2):
            served.send(FORM.make(columns(day, 0.0), segment="north"), SURVEY, binary=True)
            served.clock.day += 1
        for number in range(3):
            assert reports() == 2 * PEOPLE
            served.send(FORM.make(columns(number, 0.0), segment="north"), SURVEY, binary=True)
        assert len(computed) == 1
        before = {"before": "2026-12-14"}
        assert served.post("/admin/surveys/cafe/1/forget", before, admin).status == 200
        assert reports() == PEOPLE
        served.clock.day += 1
        assert reports() == 4 * PEOPLE
        assert len(computed) == 3


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path, SURVEY) as served:
        token = served.token("read")
        served.send(FORM.make(columns(1, 0.0), segment="north"), SURVEY, binary=True)
        assert waited(served, "/results/cafe/word", token).status == 200
        process = served.collector.jobs._workers[0]._process
        assert process is not None
        process.kill()
        process.wait()
        assert waited(served, "/results/cafe/word?error_rate=0.01", token).status == 200


def test_a_computation_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    with running(tmp_path, SURVEY) as served:
        served.collector.jobs.close()
        served.collector.jobs = Jobs(seconds=0.01)
        token = served.token("read")
        served.send(FORM.make(columns(1, 0.0), segment="north"), SURVEY, binary=True)
        reply = waited(served, "/results/cafe/word", token)
        assert (reply.status, reply.error) == (503, "given-up")
        assert served.get("/results/cafe/drink", token).status == 200


def test_files_in_the_folder_of_the_collector_are_not_taken_for_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is a Python of its own, which would look there first."""
    (tmp_path / "msgspec.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    with running(tmp_path / "store", SURVEY) as served:
        served.send(FORM.make(columns(1, 0.0), segment="north"), SURVEY, binary=True)
        reply = waited(served, "/results/cafe/word", served.token("read"))
        assert reply.status == 200, reply.body
