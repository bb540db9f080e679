"""The command line: every example of the help runs; an error is one sentence, nothing written."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import murmurs as mm
from murmurs import Survey
from murmurs.cli import HELPS, main
from murmurs.collect.stores import open_store
from murmurs.files.counts import read_counts, write_counts
from murmurs.files.reports import read_reports, write_reports
from murmurs.present.layout import WIDTH, width
from tests.surveys import DRINK, coffee

TOML = coffee(DRINK)
SECOND = """
[[questions]]
name = "sugar"
labels = ["no", "yes"]
mechanism = {name = "OUE", epsilon = 1.0}
"""
SURVEY = Survey.from_toml(TOML)
BOTH = Survey.from_toml(TOML + SECOND)
PETS = Survey.from_toml("""
name = "pets"
[[questions]]
name = "pet"
mechanism = {name = "Dictionary", epsilon = 8.0, longest = 3}
""")
ANSWERS = ["tea", "espresso", "tea", "nothing", "filter"] * 40
PEOPLE = "espresso,1000\nfilter,500\ntea,2500\nnothing,7\n"
every = pytest.mark.parametrize("name", HELPS)
every_that_ends = pytest.mark.parametrize("name", [n for n in HELPS if n != "serve"])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file of each kind, to work in."""
    monkeypatch.chdir(tmp_path)
    for name, content in files().items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@cache
def files() -> dict[str, bytes]:
    """The files by name, made once."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def write_files(tmp_path: Path) -> None:
    (tmp_path / "coffee.toml").write_text(TOML)
    (tmp_path / "coffee.json").write_text(SURVEY.to_json())
    (tmp_path / "both.toml").write_text(TOML + SECOND)
    (tmp_path / "answers.txt").write_text("\n".join(ANSWERS) + "\n")
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "data.csv").write_text("drink\n" + "\n".join(ANSWERS) + "\n")
    rng = np.random.default_rng(1)
    for survey, question, name in (
        (SURVEY, SURVEY.questions[0], "reports.bin"),
        (BOTH, BOTH.questions[0], "drink.bin"),
        (BOTH, BOTH.questions[1], "sugar.bin"),
    ):
        reports = question.mechanism.encode_many(rng.integers(0, 2, 300), rng)
        write_reports(tmp_path / name, survey, question, [reports])
    question = SURVEY.questions[0]
    for name in ("counts.json", "monday.json", "tuesday.json"):
        counts = question.closed.simulate([10, 20, 30, 40], rng)
        write_counts(tmp_path / name, SURVEY, question, counts)
    pet = PETS.questions[0]
    write_counts(tmp_path / "pets.json", PETS, pet, pet.simulate({"leo": 3000, "cat": 2000}, rng))
    joint = BOTH.joint("drink", "sugar")
    counts = joint.simulate([[10, 20], [30, 40], [50, 60], [70, 80]], rng)
    write_counts(tmp_path / "drink-sugar.json", BOTH, joint, counts)


@pytest.fixture
def collected(desk: Path) -> Path:
    """The same folder with a store in it."""
    with contextlib.closing(open_store(desk / "collected")) as store:
        store.publish(SURVEY, 20_000)
    return desk


def run(line: str, text: str | None = None) -> Result:
    """Run a command as it would be typed, ``murmurs`` in front left out."""
    return CliRunner().invoke(main, shlex.split(line), input=text)


def good(line: str, text: str | None = None) -> str:
    result = run(line, text)
    assert result.exception is None, result.output
    assert result.exit_code == 0
    return result.stdout


def example_of(name: str) -> str:
    """The example in the help of a command, without ``murmurs``."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.help is not None
    examples = [part for part in command.help.splitlines() if part.strip().startswith("murmurs ")]
    assert len(examples) == 1
    return examples[0].strip().removeprefix("murmurs ")


# What runs


@every_that_ends
def test_the_example_of_the_help_runs_and_fits_80_columns(name: str, collected: Path) -> None:
    example = example_of(name)
    assert example.startswith(name)
    result = run(example)
    assert result.exit_code == 0, result.output
    assert result.stdout.strip()
    for line in [*result.stdout.splitlines(), *result.stderr.splitlines()]:
        assert width(line) <= WIDTH, f"{width(line)}: {line}"


@every_that_ends
def test_every_command_prints_json_for_programs(name: str, collected: Path) -> None:
    document = json.loads(good(f"{example_of(name)} --json"))
    assert document


@every
def test_the_help_shows_the_example_on_a_line_of_its_own(name: str) -> None:
    lines = [line.strip() for line in good(f"{name} --help").splitlines()]
    assert f"murmurs {example_of(name)}" in lines
    assert not any("\\b" in line for line in lines)


@pytest.mark.parametrize("group", ["", "token", "store", "rappor"])
def test_the_help_describes_each_command_in_a_whole_sentence(group: str) -> None:
    listed = good(f"{group} --help").partition("Commands:\n")[2].splitlines()
    assert len(listed) >= 3
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []


def test_the_help_lists_the_commands_in_the_order_of_the_path_of_the_data() -> None:
    lines = good("-h").partition("Commands:")[2].splitlines()
    assert [line.split()[0] for line in lines if re.match("  [a-z]", line)] == list(HELPS)


@every
def test_the_list_of_commands_has_the_first_sentence_of_each_command(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.get_short_help_str(limit=80) == HELPS[name]
    assert command.name == name


def test_the_list_of_commands_is_printed_without_numpy_and_without_any_command() -> None:
    program = "import sys; from murmurs.cli import main; main(['--help'], standalone_mode=False);"
    program += "print([m for m in sys.modules if m.startswith(('murmurs', 'numpy', 'msgspec'))])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = done.stdout.decode().splitlines()[-1]
    assert loaded == "['murmurs', 'murmurs.cli.suggestions', 'murmurs.cli']"


def test_a_command_of_another_package_is_listed_where_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "  reproduce " in good("--help")
    monkeypatch.setattr("murmurs.cli.find_spec", lambda name: None)
    assert "reproduce" not in good("--help")
    assert "there is no command 'reproduce'" in run("reproduce").stderr


def test_every_command_within_a_group_has_one_example_too() -> None:
    for name in ("token", "store", "rappor"):
        group = main.get_command(click.Context(main), name)
        assert isinstance(group, click.Group)
        for member in group.commands.values():
            assert (member.help or "").count(f"  murmurs {name} {member.name} ".rstrip()) == 1


def test_from_a_survey_to_an_estimate(desk: Path) -> None:
    published = json.loads(good("publish coffee.toml -o new.json --json"))
    assert published == {"survey": "coffee", "fingerprint": SURVEY.fingerprint}
    assert Survey.from_json((desk / "new.json").read_text()) == SURVEY
    encoded = json.loads(good("encode new.json answers.txt -o new.bin --json"))
    assert encoded == {"question": "drink", "reports": 200, "bytes": 1}
    counted = json.loads(good("count new.json new.bin new.bin -o new-counts.json --json"))
    assert counted == {"question": "drink", "n": 400}
    estimate = json.loads(good("estimate new-counts.json --json"))
    assert estimate["labels"] == list(SURVEY.questions[0].labels)
    by_library = mm.estimate(read_counts(desk / "new-counts.json")[1])
    assert (estimate["n"], estimate["method"]) == (400, by_library.estimator)
    assert estimate["shares"] == pytest.approx(by_library.shares.tolist())


def test_a_survey_as_people_write_it_is_read_by_every_command(desk: Path) -> None:
    good("encode coffee.toml answers.txt -o new.bin")
    assert len(next(read_reports(desk / "new.bin", SURVEY)[1])) == 200
    good("count coffee.toml new.bin -o new.json")
    good("simulate coffee.toml people.csv -o simulated.json")


def test_answers_may_come_through_a_pipe(desk: Path) -> None:
    text = good("encode coffee.json - -o new.bin", "tea\nfilter\r\ntea")
    assert "3 reports of 1 byte to 'drink' written to new.bin" in text
    assert len(next(read_reports(desk / "new.bin", SURVEY)[1])) == 3
    good("encode coffee.json - -o none.bin", "")
    assert list(read_reports(desk / "none.bin", SURVEY)[1]) == []


def test_people_may_come_through_a_pipe(desk: Path) -> None:
    text = good("simulate coffee.json - -o new.json", "tea,5\ntea,6\nfilter, 7\n")
    assert "18 reports to 'drink' simulated; counts written to new.json" in text
    assert read_counts(desk / "new.json")[1].n == 18


def test_a_seed_makes_encoding_and_simulating_reproducible(desk: Path) -> None:
    for command in ("encode coffee.json answers.txt", "simulate coffee.json people.csv"):
        for seed, name in ((1, "a"), (1, "b"), (2, "c")):
            good(f"{command} --seed {seed} -o {name}")
        good(f"{command} -o d")
        one, same, other, system = ((desk / name).read_bytes() for name in "abcd")
        assert one == same
        assert len({one, other, system}) == 3


def test_one_of_several_questions_is_chosen(desk: Path) -> None:
    good("encode both.toml - --question sugar -o new.bin", "yes\nno\n")
    assert read_reports(desk / "new.bin", BOTH)[0].name == "sugar"
    good("simulate both.toml - --question sugar -o new.json", "yes,5\n")
    assert read_counts(desk / "new.json")[0].name == "sugar"


def test_an_estimator_is_chosen_by_name(desk: Path) -> None:
    document = json.loads(good("estimate counts.json --estimator unbiased --json"))
    assert document["method"] == "unbiased"
    assert "asked for by name" in document["why"]


def test_the_mechanisms_are_listed_from_the_best_to_the_worst() -> None:
    rows = json.loads(good("mechanisms --answers 64 --epsilon 2 --respondents 5000 --json"))
    errors = [row["error"] for row in rows]
    assert errors == sorted(errors)
    assert rows[0]["mechanism"] == "Subset"
    assert all(row["epsilon_realised"] <= 2 for row in rows)
    more = json.loads(good("mechanisms --answers 64 --epsilon 2 --respondents 500000 --json"))
    assert more[0]["error"] == pytest.approx(errors[0] / 10)


def test_the_demo_runs_without_a_terminal() -> None:
    text = good("demo --respondents 500")
    assert re.search(r"The collector is at http://127\.0\.0\.1:\d+; 500 devices submit to it", text)
    assert "1,500 reports were encoded, submitted and stored in " in text
    for line in ("drink in the morning?", "name of your pet?", "sleep × mood"):
        assert f"{line}\n500 reports\n\nanswer" in text
    assert "Ctrl-C" not in text


def test_a_demo_that_is_told_to_end_leaves_no_collector_and_no_directory(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "murmurs", "demo", "--respondents", "300000"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout is not None
        said = next(line for line in demo.stdout if line.startswith("The collector is at"))
        [address] = re.findall(r"127\.0\.0\.1:(\d+)", said)
        demo.terminate()
        assert demo.wait(60) == 128 + signal.SIGTERM
    assert list(tmp_path.glob("murmurs-demo-*")) == []
    with (
        pytest.raises(ConnectionRefusedError),
        socket.create_connection(("127.0.0.1", int(address))),
    ):
        pass


def test_the_demo_tells_the_truth_beside_the_estimate() -> None:
    """False alarm 2e-9 in 21 shares, of secure chance; labels in another order would fail."""
    document = json.loads(good("demo --respondents 20000 --json"))
    assert list(document["questions"]) == ["drink", "pet", "sleep+mood"]
    for result in document["questions"].values():
        assert result["reports"] == 20_000
        assert sum(result["truth"]) == pytest.approx(1)
        errors = np.array(result["unbiased"]) - result["truth"]
        assert np.all(np.abs(errors) < 6.5 * np.array(result["unbiased_errors"]))
        assert max(result["truth"]) - min(result["truth"]) > 13 * max(result["unbiased_errors"])


def test_the_tables_for_people_show_labels_and_intervals(desk: Path) -> None:
    text = good("estimate counts.json")
    assert text.startswith("What do you drink?\n100 reports\n")
    assert all(label in text for label in SURVEY.questions[0].labels)
    assert "95 % interval" in text
    assert SURVEY.short_fingerprint in good("publish coffee.toml -o new.json")


# What does not


def refused(line: str, desk: Path, text: str | None = None) -> str:
    """Run a line that must end with status 2 and one sentence, and write nothing; return that."""
    before = {path.name: path.read_bytes() for path in desk.iterdir()}
    result = run(line, text)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    errors = [part for part in result.stderr.splitlines() if part.startswith("Error: ")]
    assert len(errors) == 1
    assert result.stderr.splitlines()[-1] == errors[0]
    assert "Traceback" not in result.stderr
    assert {path.name: path.read_bytes() for path in desk.iterdir()} == before
    return errors[0].removeprefix("Error: ")


BAD_LINES: list[tuple[str, str | None, str]] = [
    ("publish nowhere.toml -o x", None, "File 'nowhere.toml' does not exist."),
    ("publish answers.txt -o x", None, "answers.txt: this is not JSON: "),
    ("publish people.csv -o x", None, "people.csv: this is not JSON: "),
    ("publish counts.json -o x", None, "counts.json: this is not a survey: "),
    ("publish coffee.toml", None, "Missing option '-o' / '--output'."),
    ("publish coffee.toml -o .", None, "File '.' is a directory."),
    ("publish coffee.toml -o no/where", None, "No such file or directory"),
    ("encode coffee.json answers.txt -o no/where", None, "No such file or directory"),
    ("encode coffee.json - -o x", "tea\nmate\n", "line 2: this is not an answer to 'drink'; "),
    ("encode coffee.json - -o x", "tea\n\n", "line 2: the answer is missing: leave such "),
    ("encode coffee.json - -o x --question milk", "", "survey 'coffee' has no question 'milk'; "),
    (
        "encode both.toml answers.txt -o x",
        None,
        "has several questions: add --question, one of dr",
    ),
    ("encode coffee.json answers.txt -o x --seed -1", None, "-1 is not in the range x>=0."),
    ("encode reports.bin answers.txt -o x", None, "reports.bin is a file of reports, not a sur"),
    ("count reports.bin coffee.json -o x", None, "in `murmurs count` the survey comes first"),
    ("count coffee.json -o x", None, "Missing argument 'REPORTS...'."),
    ("count coffee.json answers.txt -o x", None, "answers.txt is not a file of reports: "),
    ("count coffee.json drink.bin -o x", None, "drink.bin holds reports for the survey with "),
    ("count both.toml drink.bin sugar.bin -o x", None, "sugar.bin answers 'sugar' and drink.bin "),
    ("simulate coffee.json - -o x", "tea\n", "line 1: 'tea' is not label,number"),
    ("simulate coffee.json - -o x", "tea,1\ntea,-1\n", "line 2: 'tea,-1' is not label,number"),
    ("simulate coffee.json - -o x", "tea,1.5\n", "line 1: 'tea,1.5' is not label,number"),
    ("simulate coffee.json - -o x", "mate,1\n", "line 1: 'mate' is not an answer to 'drink'"),
    ("simulate coffee.json - -o x", f"tea,{10**30}\n", "more than 2**62 people"),
    ("simulate coffee.json - -o x", f"tea,{2**62 + 1}\n", "more than 2**62 people"),
    ("simulate coffee.json - -o x", f'"{"x" * 200_000}",1\n', "line 1: "),
    ("estimate coffee.json", None, "coffee.json is a survey, not counts: run murmurs count first"),
    ("estimate answers.txt", None, "answers.txt is not a file of counts: this is not JSON: "),
    ("estimate answers.txt", None, "; if it has reports or answers, run murmurs count first"),
    ("estimate people.csv", None, "; if it has reports or answers, run murmurs count first"),
    ("estimate coffee.toml", None, "; if it is a survey, run murmurs count with it first"),
    ("estimate counts.json --estimator best", None, "'best' is not"),
    ("mechanisms --answers 1", None, "k must be from 2 to 1000000, not 1"),
    ("mechanisms --epsilon 0", None, "epsilon must be from 1e-06 to 700, not 0"),
    ("mechanisms --respondents 0", None, "0 is not in the range 1<=x<="),
    ("study data.csv --epsilon 1", None, "data.csv has columns: add --column with a name or a num"),
    ("study data.csv --column drink", None, "Missing option '--epsilon'."),
    ("study data.csv --column 1 --epsilon 0", None, "epsilons must be from 1e-06 to 700, not 0"),
    ("study data.csv --column 1 --epsilon 1 --plot x", None, "the name must end with .png"),
    ("study - --epsilon 1", "tea\n\nmate\n", "line 2: the value is missing: leave such people out"),
    ("study - --epsilon 1", "tea\ntea\n", "there is one value only, and a study needs at least tw"),
    (
        "study data.csv --column 1 --epsilon 1 --plot no/x.png",
        None,
        "there is no folder no: make it",
    ),
    ("reproduce fig1", None, "there is no experiment 'fig1': run murmurs reproduce for their na"),
    ("reproduce all --census people.csv", None, "people.csv, line 1: there is no column Military"),
    ("demo --respondents 99", None, "99 is not in the range 100<=x<=10000000."),
    ("poll", None, "there is no command 'poll'"),
]


@pytest.mark.parametrize(
    ("line", "text", "sentence"), BAD_LINES, ids=[f"{i}: {x[0]}" for i, x in enumerate(BAD_LINES)]
)
def test_wrong_input_ends_with_one_sentence_and_nothing_written(
    line: str, text: str | None, sentence: str, desk: Path
) -> None:
    assert sentence in refused(line, desk, text)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # the status must tell
@pytest.mark.parametrize("last", ["", "tea,5\n", "filter,5\n"])
@pytest.mark.parametrize("times", [2, 4])
def test_people_too_many_to_add_up_are_refused_as_too_many(
    times: int, last: str, desk: Path
) -> None:
    """Sums of 64 bits would wrap round: twice 2**62 below zero, four times to nobody at all."""
    sentence = refused("simulate coffee.json - -o x", desk, f"tea,{2**62}\n" * times + last)
    assert "more than 2**62 people" in sentence


def test_a_bad_line_after_many_good_ones_leaves_the_old_file(desk: Path) -> None:
    (desk / "old.bin").write_bytes(b"before")
    text = "tea\n" * 70_000 + "mate\n"
    assert refused("encode coffee.json - -o old.bin", desk, text).startswith(
        "standard input, line 70001: this is not an answer to 'drink'"
    )


def test_reports_cut_short_are_not_counted(desk: Path) -> None:
    data = (desk / "sugar.bin").read_bytes()
    (desk / "sugar.bin").write_bytes(data[:-1])
    sentence = refused("count both.toml sugar.bin -o x", desk)
    assert sentence == (
        "sugar.bin is incomplete: copy or encode it again, or count its first 300 reports with "
        "`murmurs count --salvage`"
    )


def test_counts_without_reports_cannot_be_estimated(desk: Path) -> None:
    question = SURVEY.questions[0]
    write_counts(desk / "none.json", SURVEY, question, question.mechanism.count([]))
    assert refused("estimate none.json", desk) == "there are no reports to estimate from"


def test_a_published_survey_of_another_version_is_told_apart(desk: Path) -> None:
    def later(document: dict[str, Any]) -> str:
        return json.dumps({**document, "version": 2})

    (desk / "later.json").write_text(later(SURVEY.to_document()))
    sentence = refused("count later.json reports.bin -o x", desk)
    assert f"holds reports for the survey with fingerprint {SURVEY.short_fingerprint!r}" in sentence
    assert "version 2" in sentence
    assert sentence.endswith("use the survey these were encoded with")


def test_a_published_survey_is_not_replaced_by_another(desk: Path) -> None:
    old = (desk / "coffee.json").read_bytes()
    good("publish coffee.toml -o coffee.json")  # the same fingerprint
    (desk / "coffee.toml").write_text(TOML.replace("epsilon = 1.0", "epsilon = 2.0"))
    assert refused("publish coffee.toml -o coffee.json", desk) == (
        f"coffee.json holds version 1 of survey 'coffee' with fingerprint "
        f"{SURVEY.short_fingerprint}: raise `version` in coffee.toml and publish to another file, "
        "or delete it first"
    )
    higher = TOML.replace('name = "coffee"', 'name = "coffee"\nversion = 2', 1)
    (desk / "higher.toml").write_text(higher)
    assert refused("publish higher.toml -o coffee.json", desk).endswith(
        f"{SURVEY.short_fingerprint}: publish to another file, or delete it first"
    )
    assert (desk / "coffee.json").read_bytes() == old
    good("publish coffee.toml -o coffee.json --force")
    assert (desk / "coffee.json").read_bytes() != old
    good("publish coffee.toml -o answers.txt")  # no survey is there
    assert Survey.from_json((desk / "answers.txt").read_bytes()).questions[0].mechanism.epsilon == 2


LONGITUDINAL = """
name = "weekly"
[[questions]]
name = "kept"
labels = ["a", "b"]
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}
[[questions]]
name = "fresh"
labels = ["a", "b"]
mechanism = {name = "BasicRappor", f = 0.0, p = 0.25, q = 0.75}
[[questions]]
name = "once"
labels = ["a", "b"]
mechanism = {name = "KRR", epsilon = 1.0}
"""


def test_publish_shows_the_epsilon_of_all_reports(desk: Path) -> None:
    (desk / "weekly.toml").write_text(LONGITUDINAL)
    table = good("publish weekly.toml -o weekly.json").splitlines()[2:]
    column = table[0].split().index("permanent")
    assert [row.split()[column] for row in table[2:]] == ["2", "inf", "–"]


def test_encode_says_that_permanent_responses_are_not_kept(desk: Path) -> None:
    (desk / "weekly.toml").write_text(LONGITUDINAL)
    (desk / "letters.txt").write_text("a\nb\n")
    result = run("encode weekly.toml letters.txt --question kept -o kept.bin")
    assert "murmurs.Device: see docs/longitudinal.md" in result.stderr
    assert result.stderr.count("Note:") == 1
    assert "murmurs.Device" not in result.stdout
    for name in ("fresh", "once"):  # which have no permanent response
        assert not run(f"encode weekly.toml letters.txt --question {name} -o {name}.bin").stderr
