"""`murmurs reproduce` and `murmurs study`: what they list, print, keep and draw."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from murmurs import __version__
from murmurs.cli import main
from murmurs.cli import study as cli_study
from murmurs.cli.progress import progress_bar
from murmurs.files import values
from murmurs.mechanisms import BY_NAME, KRR
from murmurs.planning.choice import Chosen
from murmurs_papers import EXPERIMENTS
from murmurs_papers import command as cli_reproduce

NAME = "kairouz2016-proposition5"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a column of answers."""
    monkeypatch.chdir(tmp_path)
    people = ["tea"] * 60 + ["mate"] * 30 + [""] * 10
    (tmp_path / "data.csv").write_text("\n".join(["drink,n", *(f"{x},1" for x in people)]))
    return tmp_path


def good(line: str) -> str:
    result = CliRunner().invoke(main, shlex.split(line))
    assert result.exit_code == 0, result.output
    return result.stdout


def states(out: str = "reproduced") -> dict[str, str]:
    listed = json.loads(good(f"reproduce --output {out} --json"))
    return {row["name"]: row["state"] for row in listed}


def test_everything_is_listed_with_its_state(desk: Path) -> None:
    assert states() == dict.fromkeys((e.name for e in EXPERIMENTS), "not run")
    good(f"reproduce {NAME} --quick")
    assert [name for name, state in states().items() if state != "not run"] == [NAME]
    assert states()[NAME] == "run quickly"
    (desk / "reproduced" / f"{NAME}.png").unlink()  # as if another experiment had run its rows
    assert states()[NAME] == "run quickly, not drawn"
    text = good("reproduce")
    for experiment in EXPERIMENTS:
        assert f"\n{experiment.name} " in text
        assert all(word in text for word in experiment.title.split())
    assert f"To run one: murmurs reproduce {EXPERIMENTS[0].name};" in text


def test_listing_needs_no_extra_and_running_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_reproduce, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert set(states().values()) == {"not run"}
    refused = CliRunner().invoke(main, ["reproduce", NAME, "--quick"])
    assert refused.exit_code == 2
    assert "pip install 'murmurs[frames,plot]'" in refused.output


def test_rows_figures_and_text_are_kept_in_the_folder(desk: Path) -> None:
    printed = good(f"reproduce {NAME} --quick --output here --seed 3")
    files = {path.relative_to(desk / "here").as_posix() for path in (desk / "here").rglob("*.*")}
    assert {f"{NAME}.png", f"{NAME}.svg", f"{NAME}.txt"} < files
    assert sum(name.startswith("rows/kairouz2016-advantage/") for name in files) == 1
    text = (desk / "here" / f"{NAME}.txt").read_text(encoding="utf-8")
    assert text.strip() in printed
    assert good(f"reproduce {NAME} --quick --output here --seed 3") == printed
    assert sum(1 for _ in (desk / "here" / "rows").rglob("*.parquet")) == 1  # not run again


def test_the_document_has_published_and_measured() -> None:
    [document] = json.loads(good(f"reproduce {NAME} --quick --json"))
    assert (document["scale"], document["version"]) == ("quick", __version__)
    wrong = {f["what"]: f for f in document["findings"]}["f(ln 7, 7) in the proof"]
    assert wrong["published"] == 3.1559
    assert wrong["measured"] == pytest.approx(2.1593, abs=1e-4)
    assert wrong["verdict"] == "explained"
    assert all(Path(path).exists() for path in document["files"])


def study(options: str) -> dict[str, Any]:
    line = f"study data.csv --column drink --drop-missing --repetitions 3 --json {options}"
    found: dict[str, Any] = json.loads(good(line))
    return found


def test_a_column_is_compared_at_equal_epsilon(desk: Path) -> None:
    found = study("--epsilon 2 --epsilon 1 --seed 1 --mechanism KRR --mechanism OUE")
    assert (found["answers"], found["people"], found["seed"]) == (2, 90, 1)
    assert len(found["rows"]) == 2 * 2 * 4
    assert [row["epsilon"] for row in found["rows"]] == [1.0] * 8 + [2.0] * 8
    for epsilon in (1.0, 2.0):
        errors = [row["l1"] for row in found["rows"] if row["epsilon"] == epsilon]
        assert errors == sorted(errors)
    assert {row["law"] for row in found["rows"]} == {"drink"}
    assert study("--epsilon 1 --seed 2 --mechanism KRR")["rows"] != found["rows"]


def test_the_study_says_how_the_choice_of_murmurs_does(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For 20 answers at epsilon 1 that is Subset, and KRR has far larger errors."""
    people = [f"v{i}" for i in range(20) for _ in range(4000 // (i + 1))]
    (desk / "many.txt").write_text("\n".join(people))
    line = "study many.txt --epsilon 1 --seed 1 --repetitions 10 --mechanism KRR --mechanism Subset"
    [chosen] = json.loads(good(f"{line} --json"))["chosen"]
    assert (chosen["epsilon"], chosen["mechanism"]) == (1.0, "Subset")
    told = "It is also the default, if you name no mechanism and no estimator."
    assert told in good(f"{line} --estimator default")
    assert "murmurs takes" not in good(f"{line} --estimator simplex")
    monkeypatch.setattr(cli_study, "choose", lambda k, e: Chosen(KRR(k, e), "it is known"))
    behind = " ".join(good(f"{line} --estimator default").split())
    assert "murmurs takes KRR with default: " in behind
    assert "the smallest l1, not within two standard errors of it" in behind


def test_values_that_look_missing_are_noted_as_answers(desk: Path) -> None:
    (desk / "few.txt").write_text("\n".join(["tea"] * 5 + ["NA"] * 2 + ["mate", "banana"]))
    line = "study few.txt --epsilon 1 --mechanism KRR --estimator simplex --repetitions 2"
    found = CliRunner().invoke(main, shlex.split(line))
    assert found.stderr.count("Note: ") == 1
    assert "2 people hold the value 'NA', which counts as an answer" in found.stderr
    (desk / "few.txt").write_text("\n".join(["tea"] * 5 + ["NA"]))
    assert "1 person holds the value 'NA'" in CliRunner().invoke(main, shlex.split(line)).stderr


def test_very_many_values_are_refused_with_a_way_out(desk: Path) -> None:
    """5,001 people with a value of their own, and 5,000 who share one."""
    people = [*(f"v{i}" for i in range(5001)), *["tea"] * 5000]
    (desk / "many.txt").write_text("\n".join(people))
    line = "study many.txt --epsilon 1 --mechanism KRR --estimator simplex --repetitions 2 --json"
    refused = CliRunner().invoke(main, shlex.split(line))
    assert refused.exit_code == 2
    assert "5,002 different values among 10,001 people" in refused.output
    assert "--top 100, or compare all of them with --top 5002" in refused.output
    some = CliRunner().invoke(main, shlex.split(f"{line} --top 1"))
    found = json.loads(some.stdout)
    assert (found["answers"], found["people"]) == (2, 10_001)
    assert "their shares tell nothing" in some.stderr
    assert json.loads(good(f"{line} --top 9999"))["answers"] == 5002


def test_a_column_of_names_does_not_fill_the_memory(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "_MOST_DISTINCT", 10)
    (desk / "many.txt").write_text("\n".join(f"v{i}" for i in range(11)))
    refused = CliRunner().invoke(main, ["study", "many.txt", "--epsilon", "1", "--top", "2"])
    assert refused.exit_code == 2
    assert "there are more than 10 different values, too many for a study" in refused.output


def test_the_rare_values_are_one_answer_together(desk: Path) -> None:
    (desk / "few.txt").write_text("\n".join(["tea"] * 5 + ["mate"] * 3 + ["water", "milk"]))
    line = "study few.txt --epsilon 1 --mechanism KRR --estimator simplex --repetitions 2 --json"
    answers = [json.loads(good(f"{line} --top {top}"))["answers"] for top in (1, 2, 3, 4, 5)]
    assert answers == [2, 3, 4, 4, 4]


def test_only_what_a_column_can_be_asked_with_is_offered() -> None:
    offered = good("study --help")
    for name in ("BasicRappor", "LOSUE", "LOLOHA", "joint", "independence"):
        assert f"|{name}" not in offered
    for name in cli_study.COMPARABLE:
        assert BY_NAME[name](k=5, epsilon=1.0).k == 5  # type: ignore[call-arg]


def test_estimators_that_do_not_fit_are_named() -> None:
    found = study("--epsilon 1 --mechanism OUE --estimator likelihood --estimator simplex")
    assert {row["estimator"] for row in found["rows"]} == {"simplex"}
    assert "'likelihood' does not fit OUE" in found["notes"][0]


def test_the_winner_is_told_with_what_cannot_be_told_from_it(desk: Path) -> None:
    line = "study data.csv --column drink --drop-missing --repetitions 5 --seed 1 --epsilon 1"
    text = good(f"{line} --mechanism KRR --estimator unbiased --plot errors.svg")
    assert text.splitlines()[-3] == "At epsilon 1, only KRR with unbiased was measured."
    assert "<svg" in (desk / "errors.svg").read_text(encoding="utf-8")
    two = " ".join(good(f"{line} --mechanism KRR --mechanism SUE").split())
    assert "within two standard errors of it: " in two
    every = " ".join(good(line).split())  # all 28 pairs; of few people, most are alike
    told = re.search(r"At epsilon 1, .*, and \d+ more\.", every)
    assert told is not None
    assert len(told[0]) < 300


def test_estimators_that_are_the_same_stand_in_the_order_in_which_they_are_named(
    desk: Path,
) -> None:
    """With little noise and no rare answer all shares are positive, and nothing is cut."""
    people = ["tea"] * 400 + ["mate"] * 300 + ["water"] * 200 + ["milk"] * 100
    (desk / "clear.txt").write_text("\n".join(people))
    for named in itertools.permutations(["unbiased", "normalized", "simplex"]):
        options = " ".join(f"--estimator {name}" for name in named)
        line = f"study clear.txt --epsilon 2 --mechanism KRR {options} --seed 2 --json"
        rows = json.loads(good(line))["rows"]
        assert tuple(row["estimator"] for row in rows) == named
        assert rows[0]["l1"] == pytest.approx(rows[2]["l1"], rel=1e-12)


def test_a_bar_shows_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with progress_bar("study") as progress:
        assert progress is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_bar("study") as progress:
        assert progress is not None
        for done, total in ((0, 2), (1, 2), (2, 2), (0, 1), (1, 1)):
            progress(done, total)


def test_an_interrupted_run_says_what_is_kept_and_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_reproduce, "reproduce", interrupted)
    done = CliRunner().invoke(main, ["reproduce", NAME, "--quick"])
    assert done.exit_code == 130
    assert f"Interrupted in {NAME}: what was simulated is kept in reproduced." in " ".join(
        done.output.split()
    )
    assert "Run the same command again to go on." in " ".join(done.output.split())
    assert "Aborted" not in " ".join(done.output.split())
