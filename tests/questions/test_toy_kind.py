"""A kind of question that only these tests know passes through every door, with one line listed.

Whatever would have to be changed elsewhere for a new kind fails here.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from murmurs.cli import main
from murmurs.client import HTTP, Client
from murmurs.files.counts import read_counts, write_counts
from murmurs.submission import SubmissionForm
from murmurs.survey.survey import Survey
from tests.collect.running import running
from tests.questions.rating import Rating, rating_listed

TOML = """
name = "canteen"

[[questions]]
name = "meal"
text = "How was it?"
stars = 5
epsilon = 4.0

[[questions]]
name = "room"
stars = 3
epsilon = 4.0

[[questions]]
name = "diet"
labels = ["any", "vegan"]
epsilon = 4.0

[[joint]]
name = "room+diet"
questions = ["room", "diet"]
"""
STARS = [5] * 1800 + [1] * 1200


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    Path("canteen.toml").write_text(TOML)
    with rating_listed():
        good("publish canteen.toml -o canteen.json")
        yield tmp_path


def good(line: str, given: str | None = None) -> str:
    found = CliRunner().invoke(main, shlex.split(line), given)
    assert found.exit_code == 0, found.output
    return found.output


def refused(line: str, given: str | None = None) -> str:
    found = CliRunner().invoke(main, shlex.split(line), given)
    assert found.exit_code == 2, found.output
    return found.output


def survey() -> Survey:
    return Survey.from_json(Path("canteen.json").read_text())


def test_it_is_published_and_read_back() -> None:
    assert survey()["meal"] == Survey.from_toml(TOML)["meal"]
    assert isinstance(survey()["meal"], Rating)
    printed = good("publish canteen.toml -o canteen.json")
    row = next(line.split() for line in printed.splitlines() if line.lstrip().startswith("meal"))
    assert row[:4] == ["meal", "5", "KRR", "4"]
    assert json.loads(Path("canteen.json").read_text())["questions"][0]["stars"] == 5


def test_an_unknown_field_is_refused_with_its_own_fields() -> None:
    Path("wrong.toml").write_text(TOML.replace("stars = 5", "stars = 5\nlabels = ['1']"))
    printed = " ".join(refused("publish wrong.toml -o x.json").split())
    assert "the fields of a rating are name, stars, text, epsilon, mechanism" in printed


def test_answers_of_a_text_and_of_a_column_are_encoded_counted_and_estimated() -> None:
    Path("stars.txt").write_text("".join(f"{n}\n" for n in STARS))
    Path("stars.csv").write_text("id,meal\n" + "".join(f"{i},{n}\n" for i, n in enumerate(STARS)))
    for file in ("stars.txt", "stars.csv --column meal"):
        good(f"encode canteen.json {file} --question meal -o reports")
        good("count canteen.json reports -o counts.json")
        found = json.loads(good("estimate counts.json --json"))
        assert found["n"] == 3000
        shares = dict(zip(found["labels"], found["unbiased"], strict=True))
        assert shares["5 stars"] == pytest.approx(0.6, abs=0.06)  # over six standard errors
        assert "1 star " in good("estimate counts.json")


def test_bad_answers_are_refused_by_their_line_and_not_quoted() -> None:
    printed = refused("encode canteen.json - --question meal -o reports", "5\n71\n")
    assert "line 2" in printed
    assert "71" not in printed
    assert "71" not in refused("answer canteen.json meal=71 --state me.json")


def test_a_whole_table_is_encoded() -> None:
    rows = "".join(f"{n},{1 + n % 3},vegan\n" for n in STARS)
    Path("people.csv").write_text(f"meal,room,diet\n{rows}")
    good("encode canteen.json people.csv -o private.csv")
    good("count canteen.json private.csv --column meal --question meal -o counts.json")
    assert read_counts(Path("counts.json"))[1].n == 3000


def test_answers_that_were_randomised_already_are_counted_by_their_labels() -> None:
    Path("said.txt").write_text("5 stars\n1 star\n1 star\n")
    good("count canteen.json said.txt --question meal --reported -o counts.json")
    assert read_counts(Path("counts.json"))[1].cells.tolist() == [2, 0, 0, 0, 1]


def test_a_population_is_simulated_from_a_file() -> None:
    Path("people.csv").write_text("5 stars,6000\n1 star,4000\n")
    good("simulate canteen.json people.csv --question meal --seed 1 -o counts.json")
    found = json.loads(good("estimate counts.json --json"))
    assert found["unbiased"][4] == pytest.approx(0.6, abs=0.05)
    Path("both.csv").write_text("3 stars,vegan,6000\n1 star,any,4000\n")
    good("simulate canteen.json both.csv --question room+diet --seed 1 -o counts.json")
    assert "3 stars" in good("joint counts.json")


def test_counts_of_several_groups_are_added_compared_and_followed() -> None:
    asked = survey()["meal"]
    for name, people in (("mon", [900, 0, 0, 0, 100]), ("tue", [0, 0, 0, 100, 900])):
        counts = asked.simulate(people, np.random.default_rng(1))
        write_counts(Path(f"{name}.json"), survey(), asked, counts)
    good("add mon.json tue.json -o both.json")
    assert read_counts(Path("both.json"), survey())[1].n == 2000
    assert "5 stars" in good("compare mon.json tue.json")
    assert "5 stars" in good("trend mon.json tue.json")


def test_two_versions_are_compared() -> None:
    Path("new.toml").write_text(TOML.replace("stars = 5", "stars = 4"))
    found = CliRunner().invoke(main, ["diff", "canteen.json", "new.toml"])
    assert "the labels of 'meal'" in found.output


def test_devices_answer_over_http_and_results_come_back(desk: Path) -> None:
    asked, rng = survey()["meal"], np.random.default_rng(1)
    with running(desk / "store", survey()) as served:
        address = f"http://127.0.0.1:{served.port}"
        client = Client(survey(), {}, delay=0)
        client.answer({"meal": 4, "room": 2, "diet": "vegan"})
        assert client.send(HTTP(address)).taken == 1
        many = SubmissionForm(survey()).make({"meal": asked.encode_many(STARS, rng)})
        assert served.send(many, survey()).status == 200
        good(f"answer canteen.json meal=2 --state me.json --to {address}")
        token = served.token("read")
        found = served.get("/results/canteen/meal", token)
        assert found.status == 200, found.body
        assert found.document["reports"] == 3002
        assert found.document["labels"] == list(asked.labels)
        table = served.get("/results/canteen/meal?format=text", token)
        assert b"How was it?" in table.body
