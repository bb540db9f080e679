"""Files on the command line: none is written over that is read, and none is half written.

What is wrong ends with status 2 and one sentence that names file, line and rule, does a terminal no
harm, and never repeats somebody's answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import unicodedata
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from murmurs import Rappor, Survey
from murmurs.cli import HELPS, main
from murmurs.cli.options import Command, new_file, new_place
from murmurs.files.counts import add_counts, read_counts, write_counts
from murmurs.files.reports import count_reports, read_reports, write_reports
from murmurs.rappor.reports import write_reports as write_rappor_reports
from tests.cli.test_cli import ANSWERS, PEOPLE, SECOND, SURVEY, TOML, good, refused, run
from tests.cli.test_rappor import write_pairs

OPEN = """
name = "pages"
[[questions]]
name = "home"
mechanism = {name = "ORR", epsilon = 4.0, width = 32, cohorts = 16}
"""
PETS = """
name = "pets"
[[questions]]
name = "pet"
mechanism = {name = "Dictionary", epsilon = 8.0, longest = 3}
"""
WRITERS = {
    "publish": "publish coffee.toml -o OUT",
    "encode": "encode coffee.json answers.txt -o OUT --seed 1",
    "count": "count coffee.json reports.bin more.bin -o OUT",
    "add": "add monday.json tuesday.json -o OUT",
    "simulate": "simulate coffee.json people.csv -o OUT --seed 1",
    "estimate": "estimate home.json --survey pages.toml --candidates strings.txt --plot OUT",
    "discover": "discover pet.json --survey pets.toml --corpus pets.txt --alphabet acot --plot OUT",
    "joint": "joint two.toml first.bin second.bin --candidates home=strings.txt -o OUT",
    "compare": "compare monday.json tuesday.json --plot OUT",
    "trend": "trend monday.json tuesday.json --plot OUT",
    "study": "study answers.txt --epsilon 1 --mechanism KRR --repetitions 2 --seed 1 --plot OUT",
    "rappor map": "rappor map --params params.csv --candidates strings.txt -o OUT",
    "rappor sum": "rappor sum --params params.csv reports.csv more.csv -o OUT",
    "rappor decode": ("rappor decode --params params.csv --counts counts.csv --map map.csv -o OUT"),
    "rappor assoc": (
        "rappor assoc --schema vars.csv --reports two.csv --var1 food --map1 map.csv --var2 raw "
        "-o OUT"
    ),
}
"""Every command that writes a file, with one file of every kind that it reads."""
PICTURED = ("estimate", "discover", "compare", "trend", "study")
"""Those whose output is a picture."""
every_writer = pytest.mark.parametrize("name", WRITERS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of each kind."""
    tmp_path = tmp_path_factory.mktemp("files")
    with contextlib.chdir(tmp_path):
        return write_files(tmp_path)


@pytest.fixture
def desk(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a copy of them, to work in."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


def write_files(tmp_path: Path) -> Path:
    (tmp_path / "coffee.toml").write_text(TOML)
    (tmp_path / "coffee.json").write_text(SURVEY.to_json())
    (tmp_path / "pages.toml").write_text(OPEN)
    (tmp_path / "answers.txt").write_text("\n".join(ANSWERS) + "\n")
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "strings.txt").write_text("apple\nbanana\ncarrot\n")
    rng = np.random.default_rng(1)
    question = SURVEY.questions[0]
    for name in ("reports.bin", "more.bin"):
        reports = question.closed.encode_many(rng.integers(0, 2, 300), rng)
        write_reports(tmp_path / name, SURVEY, question, [reports])
    for name in ("monday.json", "tuesday.json"):
        write_counts(
            tmp_path / name, SURVEY, question, question.closed.simulate([10, 20, 30, 40], rng)
        )
    good("simulate pages.toml - --seed 1 -o home.json", "apple,3000\nbanana,500\n")
    (tmp_path / "pets.toml").write_text(PETS)
    (tmp_path / "pets.txt").write_text("cat\noat\n")
    good("simulate pets.toml - --seed 1 -o pet.json", "cat,3000\ntac,2000\n")
    (tmp_path / "two.toml").write_text(OPEN + SECOND)
    (tmp_path / "two.csv").write_text("home,sugar\n" + "apple,yes\nbanana,no\n" * 2000)
    for name, column in (("first", "home"), ("second", "sugar")):
        good(f"encode two.toml two.csv --question {column} --column {column} -o {name}.bin")
    (tmp_path / "params.csv").write_text("k,h,m,p,q,f\n16,2,8,0.25,0.75,0.3\n")
    rappor = Rappor(width=16, hashes=2, cohorts=8, f=0.3, p=0.25, q=0.75, scheme="google")
    for name in ("reports.csv", "more.csv"):
        reports = rappor.encode_many(["apple"] * 3000 + ["banana"] * 500, rng)
        write_rappor_reports(tmp_path / name, rappor, [reports])
    write_pairs(tmp_path, ["apple"] * 3000 + ["banana"] * 500, rappor)
    good("rappor map --params params.csv --candidates strings.txt -o map.csv")
    good("rappor sum --params params.csv reports.csv -o counts.csv")
    return tmp_path


def inputs_of(line: str) -> list[str]:
    return [word.rpartition("=")[2] for word in line.split() if "." in word]


def output_of(name: str, stem: str = "out") -> str:
    return f"{stem}.svg" if name in PICTURED else stem


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_every_command_that_has_an_output_is_among_the_writers() -> None:
    """The table above is complete, and every command compares its files."""
    found = []
    for name in HELPS:
        command = main.get_command(click.Context(main), name)
        group = command.commands.values() if isinstance(command, click.Group) else [command]
        for member in group:
            assert isinstance(member, Command)
            if any(parameter.type in (new_file, new_place) for parameter in member.params):
                found.append(name if member is command else f"{name} {member.name}")
    assert found == list(WRITERS)


# Nothing that is read is written over


@every_writer
def test_no_command_writes_over_a_file_that_it_reads(name: str, desk: Path) -> None:
    """By its name, by another path, by a symbolic and by a hard link."""
    inputs = inputs_of(WRITERS[name])
    assert len(inputs) == len(set(inputs)) > 0
    for given in inputs:
        copy = output_of(name, f"hard-{given}")
        os.link(given, copy)
        (desk / output_of(name, f"soft-{given}")).symlink_to(given)
        names = [copy, output_of(name, f"soft-{given}"), output_of(name, f"chain-{given}")]
        (desk / names[2]).symlink_to(names[1])
        if name not in PICTURED:  # whose output ends as a picture
            names += [given, f"../{desk.name}/{given}"]
        for output in names:
            said = refused(WRITERS[name].replace("OUT", output), desk)
            assert said == (
                f"cannot write {output}: it is {given}, which is read too; "
                "give the output another name"
            )


@pytest.mark.parametrize(("name", "given"), [("encode", "answers.txt"), ("simulate", "people.csv")])
def test_what_comes_from_standard_input_is_not_written_over(
    name: str, given: str, desk: Path
) -> None:
    """The shell opens the file, and still it is known which it is."""
    before = (desk / given).read_bytes()
    with (desk / given).open("rb") as source:
        done = subprocess.run(
            [sys.executable, "-m", "murmurs", name, "coffee.json", "-", "-o", given],
            stdin=source,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert f"cannot write {given}: it is standard input, which" in done.stderr
    assert (desk / given).read_bytes() == before


def test_two_names_of_the_null_device_are_no_file(desk: Path) -> None:
    with Path("/dev/null").open("rb") as nothing:
        done = subprocess.run(
            [sys.executable, "-m", "murmurs", "encode", "coffee.json", "-", "-o", "/dev/null"],
            stdin=nothing,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout == "0 reports of 1 byte to 'drink' written to /dev/null\n"


# Whole or not at all


@every_writer
def test_no_command_leaves_half_a_file_when_the_disk_is_full(name: str, desk: Path) -> None:
    output = output_of(name)
    good(WRITERS[name].replace("OUT", output))
    (desk / output).write_bytes(b"before")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        said = refused(WRITERS[name].replace("OUT", output), desk)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert said == f"cannot write {output}: File too large"


@every_writer
def test_every_command_writes_through_links_pipes_and_devices(name: str, desk: Path) -> None:
    output = output_of(name)
    good(WRITERS[name].replace("OUT", output))
    wanted = (desk / output).read_bytes()
    (desk / output).write_bytes(b"")
    (desk / output).chmod(0o640)
    link = output_of(name, "link")
    (desk / link).symlink_to(output)
    good(WRITERS[name].replace("OUT", link))
    assert (desk / link).is_symlink()
    assert len((desk / output).read_bytes()) == len(wanted)
    assert stat.S_IMODE((desk / output).stat().st_mode) == 0o640
    pipe, found = desk / output_of(name, "pipe"), list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    good(WRITERS[name].replace("OUT", pipe.name))
    reader.join()
    assert len(found[0]) == len(wanted)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    (desk / output_of(name, "null")).symlink_to("/dev/null")
    good(WRITERS[name].replace("OUT", output_of(name, "null")))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_signal_during_a_command_leaves_the_old_file_and_no_other(desk: Path) -> None:
    (desk / "old.bin").write_bytes(b"before")
    before = sorted(path.name for path in desk.iterdir())
    running = subprocess.Popen(
        [sys.executable, "-m", "murmurs", "encode", "coffee.json", "-", "-o", "old.bin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdin is not None
    running.stdin.write(b"tea\n" * 70_000)
    running.stdin.flush()
    for _ in range(600):
        if sorted(path.name for path in desk.iterdir()) != before:
            break
        threading.Event().wait(0.05)
    assert sorted(path.name for path in desk.iterdir()) != before  # it has begun to write
    running.send_signal(signal.SIGTERM)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM
    assert errors == b""
    assert sorted(path.name for path in desk.iterdir()) == before
    assert (desk / "old.bin").read_bytes() == b"before"


# Pipes


@every_writer
def test_a_file_may_go_to_standard_output_and_what_is_said_beside_it(name: str, desk: Path) -> None:
    if name in PICTURED:
        assert "--plot -: the name must end with .png, .svg, .pdf" in refused(
            WRITERS[name].replace("OUT", "-"), desk
        )
        return
    good(WRITERS[name].replace("OUT", "out"))
    result = CliRunner().invoke(main, WRITERS[name].replace("OUT", "-").split())
    assert result.exit_code == 0
    assert result.stdout_bytes == (desk / "out").read_bytes()
    assert result.stderr.strip()
    assert not (desk / "-").exists()


def test_from_answers_to_shares_through_pipes(desk: Path) -> None:
    murmurs = f"{sys.executable} -m murmurs"
    script = (
        f"{murmurs} encode coffee.json - -o - < answers.txt | {murmurs} count coffee.json - -o - |"
        f"{murmurs} estimate - --survey coffee.json --json"
    )
    plain = {**os.environ, "MURMURS_KERNELS": "reference"}  # nothing is compiled for a few reports
    done = subprocess.run(["sh", "-c", script], env=plain, capture_output=True, check=True)
    assert json.loads(done.stdout)["n"] == len(ANSWERS)


# Complete files


def test_what_is_whole_of_a_cut_file_is_counted_when_asked_for(desk: Path) -> None:
    question = SURVEY.questions[0]
    write_reports(desk / "long.bin", SURVEY, question, [question.closed.encode_many([1] * 10_000)])
    os.truncate("long.bin", 9000)
    said = refused("count coffee.json reports.bin long.bin -o x", desk)
    assert said.startswith(
        "long.bin is incomplete: copy or encode it again, or count its first 8192"
    )
    result = run("count coffee.json reports.bin long.bin -o x.json --salvage")
    assert result.exit_code == 0
    assert result.stderr == "long.bin is incomplete: its first 8192 reports are counted\n"
    assert result.stdout == "8,492 reports to 'drink' counted; written to x.json\n"
    assert read_counts(desk / "x.json")[1].n == 8492
    document = json.loads(good("count coffee.json long.bin -o x.json --salvage --json"))
    assert document == {
        "question": "drink",
        "n": 8192,
        "notes": ["long.bin is incomplete: its first 8192 reports are counted"],
    }
    assert json.loads(good("count coffee.json reports.bin -o x.json --salvage --json")) == {
        "question": "drink",
        "n": 300,
        "notes": [],
    }


def test_files_that_were_joined_are_refused(desk: Path) -> None:
    both = (desk / "reports.bin").read_bytes() + (desk / "more.bin").read_bytes()
    (desk / "both.bin").write_bytes(both)
    assert refused("count coffee.json both.bin -o x", desk).startswith(
        "both.bin does not end where its reports end: "
    )


def test_counts_add_up_on_the_command_line(desk: Path) -> None:
    assert good("add monday.json tuesday.json -o week.json") == (
        "200 reports to 'drink' added up; written to week.json\n"
    )
    total = read_counts(desk / "monday.json")[1] + read_counts(desk / "tuesday.json")[1]
    assert add_counts([desk / "week.json"]) == (SURVEY.fingerprint, SURVEY.questions[0], total)
    good("estimate week.json --survey coffee.toml")


def test_counts_of_another_survey_are_refused(desk: Path) -> None:
    document = {**SURVEY.to_document(), "version": 2}
    (desk / "later.json").write_text(json.dumps(document))
    good("simulate later.json people.csv -o later-counts.json")
    said = refused("add monday.json later-counts.json -o x", desk)
    assert said.endswith("counts of two surveys do not add up")
    said = refused("estimate later-counts.json --survey coffee.json", desk)
    assert said.startswith("later-counts.json holds counts for the survey with ")


def test_counts_with_another_epsilon_written_in_are_refused(desk: Path) -> None:
    text = (desk / "monday.json").read_text()
    (desk / "altered.json").write_text(text.replace('"epsilon": 1.0', '"epsilon": 1.5'))
    assert "it was altered after it was written" in refused("estimate altered.json", desk)


# What is said


SECRET = "espressoo-my-secret"


@pytest.mark.parametrize(
    ("survey", "line"),
    [
        ("coffee.json", SECRET.encode()),
        ("coffee.json", SECRET.encode() + b"\xff"),
        ("coffee.json", SECRET.encode() * 100_000),
        ("pages.toml", SECRET.encode() + b"\xff"),
        ("pages.toml", SECRET.encode() * 100_000),
        ("pages.toml", b""),
    ],
)
@pytest.mark.parametrize("source", ["secret.txt", "-"])
def test_what_is_said_of_an_answer_is_file_line_and_rule(
    survey: str, line: bytes, source: str, desk: Path
) -> None:
    data = b"tea\ntea\n" + line + b"\ntea\n"
    (desk / "secret.txt").write_bytes(data)
    arguments = ["encode", survey, source, "-o", "x"]
    result = CliRunner().invoke(main, arguments, input=data if source == "-" else None)
    assert result.exit_code == 2
    name = "standard input" if source == "-" else "secret.txt"
    assert result.stderr.startswith(f"Error: {name}, line 3: ")
    assert "secret" not in result.stderr.removeprefix(f"Error: {name}")
    assert "0xff" not in result.stderr
    assert not (desk / "x").exists()


def test_an_open_question_is_checked_where_it_is_encoded(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is brought into its normal form by the mechanism, not once more by the command."""
    calls: list[str] = []
    kind = type(Survey.from_toml(OPEN).questions[0].mechanism)
    once = kind.check

    def check(self: object, text: object) -> str:
        calls.append(str(text))
        return str(once(self, text))  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "check", check)
    lines = [f"page {j}" for j in range(1000)]
    good("encode pages.toml - -o x", "\n".join(lines))
    assert calls == lines


MARK = "\ufeff"


def test_every_text_may_begin_with_a_byte_order_mark(desk: Path) -> None:
    question = SURVEY.questions[0]
    files = ["coffee.toml", "coffee.json", "answers.txt", "people.csv", "strings.txt"]
    files += ["monday.json", "home.json", "pages.toml", "params.csv", "reports.csv", "more.csv"]
    files += ["map.csv", "counts.csv"]
    for file in files:
        (desk / file).write_bytes(MARK.encode() + (desk / file).read_bytes())
    for name, line in WRITERS.items():
        good(line.replace("OUT", output_of(name)))
    good("encode coffee.json answers.txt -o answers.bin")
    assert count_reports([desk / "answers.bin"], SURVEY)[1].n == len(ANSWERS)
    good("simulate coffee.json - -o s.json", f"{MARK}tea,5\n")
    assert read_counts(desk / "s.json")[0] == question


def test_control_characters_in_labels_and_names_do_not_reach_the_terminal(desk: Path) -> None:
    """Escape codes, C1 controls, overrides of the direction, and half of a surrogate pair."""
    labels = ["te\x1b[31ma", "m\x9b2Jilk", "\u202eeffoc", "a\u2066b\u2028c", "$x$ $\\frac$"]
    bad = {
        "murmurs": 1,
        "name": "esc\x1b]0;title\x07",
        "version": 1,
        "questions": [
            {"name": "drink", "labels": labels[:2], "mechanism": {"name": "KRR", "epsilon": 1.0}}
        ],
    }
    (desk / "bad.json").write_text(json.dumps(bad))
    people = "".join(f"{label},{1000 * (j + 1)}\n" for j, label in enumerate(labels[:3]))
    (desk / "labels.txt").write_text("\n".join(labels) + "\n", newline="")
    candidates = "--candidates labels.txt"
    said = [
        run("publish pages.toml -o published.json"),
        run("simulate pages.toml - -o esc\x1b[2J.json", people),
        run(f"estimate esc\x1b[2J.json {candidates} --plot esc.svg"),
        run(f"estimate esc\x1b[2J.json {candidates} --json"),
        run("publish bad.json -o x"),
        run("encode published.json - -o x --question \x1b[2J", "tea\n"),
        run("simulate coffee.json - -o x", "\x1b[2Jtea,5\n"),
        run("estimate \x1b[2J"),
        run("count coffee.json \x1b[2J -o x"),
        run("\x1b[2J"),
        run("estimate answers.txt --estimator \x1b[2J"),
    ]
    assert [result.exit_code for result in said] == [0] * 4 + [2] * 7
    for result in said:
        for character in result.output:
            assert character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Zl")
    assert "te\\x1b[31ma" in said[2].stdout
    assert "\\u202eeffoc" in said[2].stdout
    assert json.loads(said[3].stdout)["labels"][:5] == labels
    assert "\x1b" not in (desk / "esc.svg").read_text()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_of_few_characters_is_printed_on(encoding: str, desk: Path) -> None:
    """Bars and dots become question marks; JSON means the same."""
    labels = list(SURVEY.questions[0].labels)
    for options in ("", "--json"):
        result = CliRunner(charset=encoding).invoke(main, f"estimate monday.json {options}".split())
        assert result.exit_code == 0
        assert all(label in result.stdout for label in labels)
    assert json.loads(result.stdout)["labels"] == labels


def test_csv_keeps_strings_as_they_are_for_programs(desk: Path) -> None:
    good("simulate pages.toml - -o esc.json", "te\x1ba,500\n")
    (desk / "labels.txt").write_text("te\x1ba\nmilk\n")
    assert "\nte\x1ba," in good("estimate esc.json --candidates labels.txt --csv")


@pytest.mark.parametrize(
    ("line", "text", "sentence"),
    [
        (
            "estimate monday.json --csv --json",
            None,
            "--csv and --json print the same in different forms: give one",
        ),
        ("estimate monday.json --plot noext", None, "--plot noext: the name must end with .png, "),
        ("estimate monday.json --plot a.xyz", None, "--plot a.xyz: the name must end with .png, "),
        ("estimate monday.json --level 1", None, "1.0 is not in the range 0.5<=x<=0.999999999."),
        (
            "estimate monday.json --level nan",
            None,
            "level must be from 0.5 to 0.999999999, not nan",
        ),
        ("rappor decode --level 1", None, "1.0 is not in the range 0.5<=x<=0.999999999."),
        (
            "simulate coffee.json - -o x",
            f"tea,{10**400}\n",
            "line 1: there are more than 2**62 peo",
        ),
        ("simulate coffee.json - -o x", f"tea,{'9' * 9000}\n", "line 1: there are more than 2**62"),
        (
            "simulate coffee.json - -o x",
            "tea,٣\n",
            "standard input, line 1: 'tea,٣' is not label,n",
        ),
        ("simulate coffee.json - -o x", "tea,0\n", "standard input: there is nobody to simulate"),
        (
            "simulate coffee.json - -o x",
            f"{'x' * 10**5},1\n",
            "line 1: 'xxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ),
        ("simulate coffee.json - -o x", '"tea,5\n', "standard input, line 1: this is not CSV: "),
        (
            f"mechanisms --respondents {10**400}",
            None,
            "is not in the range 1<=x<=4611686018427387904",
        ),
        (f"mechanisms --respondents {'9' * 9000}", None, "is not a valid integer"),
        (f"mechanisms --answers {10**18}", None, "k must be from 2 to 1000000, not 10000000000000"),
        ("mechanisms --epsilon 1e400", None, "epsilon must be from 1e-06 to 700, not inf"),
        ("mechanisms --epsilon nan", None, "epsilon must be from 1e-06 to 700, not nan"),
        (
            f"tune --epsilon 1 --respondents {10**400} --candidate-count 9",
            None,
            "is not in the range 1<=x<=4611686018427387904",
        ),
        ("count coffee.json nothing -o x", None, "File 'nothing' does not exist."),
        ("add monday.json home.json -o x", None, "home.json holds counts for the survey "),
    ],
)
def test_wrong_input_ends_with_one_sentence(
    line: str, text: str | None, sentence: str, desk: Path
) -> None:
    said = refused(line, desk, text)
    assert sentence in said
    assert len(said) < 1100


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        (
            "deep.json",
            '{"name":' * 100_000,
            "deep.json: this JSON is not accepted: it is nested",
        ),
        ("deep.toml", "a = " + "[" * 100_000, "deep.toml: "),
        ("twice.json", '{"name": "a", "name": "b"}', "the key 'name' occurs twice"),
        ("number.json", '{"version": ' + "9" * 10_000 + "}", "a number has thousands of digits"),
        (
            "number.json",
            '{"name": "a", "questions": [], "version": 1e999}',
            "1e999 is not a finite number",
        ),
        ("latin.toml", b'name = "caf\xe9"', "latin.toml: this is not a survey: "),
        (
            "label.toml",
            TOML.replace('"filter"', '"tea"'),
            "label.toml: question 'drink' has the label 'tea' twice",
        ),
    ],
)
def test_a_survey_that_is_wrong_is_told_with_its_file(
    file: str, content: str | bytes, sentence: str, desk: Path
) -> None:
    (desk / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    for line in (f"publish {file} -o x", f"encode {file} answers.txt -o x"):
        said = refused(line, desk)
        assert said.startswith(f"{file}: ")
        assert sentence in said


def test_too_little_memory_is_told_in_a_sentence(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 7.28 TiB")

    monkeypatch.setattr("murmurs.cli.count.count_reports", no_room)
    assert refused("count coffee.json reports.bin -o x", desk) == (
        "there is not enough memory: Unable to allocate 7.28 TiB"
    )


def test_a_long_list_of_long_answers_is_encoded_in_bounded_parts(desk: Path) -> None:
    """Parts end by bytes, not only by lines; every line is encoded once."""
    lines = [f"{j} {'x' * 200_000}" for j in range(100)]  # 20 MB
    good("encode pages.toml - -o x", "\n".join(lines) + "\n")
    survey = Survey.from_toml(OPEN)
    question = survey.questions[0]
    assert sum(len(part) for part in read_reports(desk / "x", survey)[1]) == 100
    assert question.is_open


def test_standard_output_onto_the_input_is_refused_too(desk: Path) -> None:
    before = (desk / "answers.txt").read_bytes()
    for redirect in ("1<> answers.txt", ">> answers.txt"):
        command = f"{sys.executable} -m murmurs encode coffee.json answers.txt -o - {redirect}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=desk, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert "which is read too" in done.stderr
        assert (desk / "answers.txt").read_bytes() == before


def test_a_file_may_be_named_like_standard_input(desk: Path) -> None:
    (desk / "-").write_bytes((desk / "answers.txt").read_bytes())
    good("encode coffee.json ./- -o dash.bin --seed 1")
    good("encode coffee.json answers.txt -o same.bin --seed 1")
    assert (desk / "dash.bin").read_bytes() == (desk / "same.bin").read_bytes()
    good("encode coffee.json answers.txt -o ./- --seed 1")
    assert (desk / "-").read_bytes() == (desk / "same.bin").read_bytes()


def test_a_file_of_which_nothing_is_whole_is_refused_by_salvage_too(desk: Path) -> None:
    data = (desk / "reports.bin").read_bytes()
    (desk / "cut.bin").write_bytes(data[: data.index(b"\n") + 20])
    result = run("count coffee.json cut.bin -o x.json --salvage")
    assert result.exit_code == 2
    assert "nothing can be salvaged from cut.bin: no block of reports is intact" in result.stderr
    assert not (desk / "x.json").exists()
    good("count coffee.json cut.bin reports.bin -o x.json --salvage")


def test_reports_are_not_estimated_before_they_are_counted(desk: Path) -> None:
    result = run("estimate reports.bin")
    assert result.exit_code == 2
    assert "reports.bin is a file of reports: run murmurs count first" in result.stderr


@pytest.mark.parametrize("line", ["count coffee.json reports.bin", "add counts.json"])
def test_people_of_a_mechanism_with_fresh_noise_are_left_out(desk: Path, line: str) -> None:
    good("count coffee.json reports.bin -o counts.json")
    result = run(f"{line} -o x.json --people same")
    assert result.exit_code == 2
    assert "noise is fresh in every report: leave --people out" in result.stderr
    assert not (desk / "x.json").exists()
