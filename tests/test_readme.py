"""What the README and the pages say is so: their commands run, their tables and links are true."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docs.http_tables import TABLES
from docs.make_tables import (
    COMPARED,
    EPSILONS,
    LAWS,
    NAMES,
    SIZES,
    fill,
    l1_errors,
    relative,
)

from murmurs import ORR, BasicRappor, ORappor, Rappor, Survey, estimators
from murmurs.cli import HELPS
from murmurs.cli.estimate import command as estimate_command
from murmurs.mechanisms import BY_NAME, OPEN, SETS
from murmurs.mechanisms.strings.prefix_levels import planned
from tests.pages import DOCS, PAGES, README, blocks, commands, run, section, type_in, write_files
from tests.printed import same

TOUR = DOCS / "tour.md"
MECHANISMS = DOCS / "mechanisms" / "index.md"


def test_the_tour_in_the_shell_runs(tmp_path: Path) -> None:
    text = TOUR.read_text(encoding="utf-8")
    assert write_files(text, tmp_path) == ["coffee.toml", "answers.txt"]
    [script] = [block for block in blocks(text, "sh") if "murmurs publish" in block]
    printed = run(script, tmp_path)
    table = printed[printed.index("95 % interval") :]
    for label in ("espresso", "filter", "tea", "nothing"):
        assert re.search(rf"^{label} +\d+\.\d %", table, re.MULTILINE), printed
    assert (tmp_path / "reports.bin").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("page", "files"),
    [
        ("cli.md", ["coffee.toml", "people.csv", "people_2.csv", "both.csv"]),
        ("collecting.md", ["commute.toml"]),
        ("dictionary.md", ["pets.toml"]),
        ("joint.md", ["admissions.toml"]),
        ("numbers.md", ["pay.toml", "earned.csv"]),
        ("reproducing.md", []),
        ("scale.md", ["coffee.toml", "monday.csv"]),
        ("strings.md", ["cats.toml", "answers.txt", "names.txt"]),
    ],
)
def test_the_commands_of_a_page_print_what_it_shows(
    page: str, files: list[str], tmp_path: Path
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert write_files(text, tmp_path) == files
    for command, shown in commands(text):
        printed = type_in(command, tmp_path)
        assert same(shown, printed), f"{command}:\n{printed}"


def _weeks(folder: Path) -> None:
    page = Survey.from_toml((folder / "startpage.toml").read_text(encoding="utf-8"))["page"]
    rng = np.random.default_rng(1)
    with (folder / "bodies.jsonl").open("w", encoding="utf-8") as file:
        for week in (1, 2):
            reports = page.encode_column(rng.choice(page.labels, 500), rng)
            pq.write_table(pa.table({"report": reports}), folder / f"week{week:02}.parquet")
            for report in reports:
                print(json.dumps({"survey": "a", "week": week, "page": report}), file=file)


def _interviews(folder: Path) -> None:
    said = [f"{i},{['law', 'arts'][i % 2]},{'same' if i % 3 else 'different'}" for i in range(90)]
    (folder / "exams.csv").write_text("\n".join(["id,faculty,said", *said]), encoding="utf-8")


def _pages(folder: Path) -> None:
    people = ["search.example", "cats.example"] * 500
    (folder / "answers.txt").write_text("\n".join(people), encoding="utf-8")
    (folder / "longer.txt").write_text("search.example\ncats.example\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("page", "survey", "prepare", "pictures"),
    [
        ("telemetry", "startpage", _weeks, ["trend.png", "weeks.png"]),
        ("paper", "exams", _interviews, ["cheated.png", "faculties.png"]),
        ("free_text", "home", _pages, ["home.png"]),
    ],
)
def test_the_scripts_of_the_cookbook_end_with_pictures(
    page: str, survey: str, prepare: Callable[[Path], None], pictures: list[str], tmp_path: Path
) -> None:
    text = (DOCS / "cookbook" / f"{page}.md").read_text(encoding="utf-8")
    [toml] = blocks(text, "toml")
    (tmp_path / f"{survey}.toml").write_text(toml, encoding="utf-8")
    prepare(tmp_path)
    for script in blocks(text, "sh"):
        run(script, tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.png")) == pictures


def test_the_table_of_mechanisms_is_that_of_today() -> None:
    text = MECHANISMS.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`(\w+)`\]\(.*?\) \| .* \| (\d+) \| (\S+) \|$", text, re.MULTILINE)
    assert {name for name, _, _ in rows} == set(BY_NAME)
    assert len(rows) == len(BY_NAME)
    for name, size, error in rows:
        if name == "BasicRappor":
            assert (int(size), error) == (BasicRappor(128, f=0.5, p=0.5, q=0.75).shape.size, "–")
        elif name not in NAMES:
            longitudinal = BY_NAME[name](k=128, epsilon=1.0, epsilon_permanent=2.0)  # type: ignore[call-arg]
            assert int(size) == longitudinal.shape.size, name
            equal = {"LOSUE": "OUE", "LOLOHA": "LocalHashing"}[name]  # in the law of one report
            assert error == f"×{relative(equal, 128, 1.0):.2f}", name
        else:
            mechanism = BY_NAME[name](k=128, epsilon=1.0)  # type: ignore[call-arg]
            assert int(size) == mechanism.shape.size, name
            assert error == f"×{relative(name, 128, 1.0):.2f}", name


def test_the_table_of_mechanisms_for_strings_is_that_of_today() -> None:
    text = MECHANISMS.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`(\w+)`\]\([^|]*\) \| [^|]* \| (\d+) \|$", text, re.MULTILINE)
    made = (
        ORR(epsilon=1.0, width=8, cohorts=256),
        ORappor(epsilon=1.0, width=128, cohorts=256),
        Rappor(width=128, hashes=2, cohorts=256, f=0.5, p=0.5, q=0.75),
        planned(epsilon=2.0),  # with 8 buckets
    )
    assert {type(mechanism).__name__ for mechanism in made} == set(OPEN)
    assert rows == [(type(m).__name__, str(m.shape.size)) for m in made]


def test_the_tables_in_the_pages_are_those_of_make_tables() -> None:
    tables: list[str] = []
    for page in (README, *DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        assert same(text, fill(text)), f"{page} is stale: run python docs/make_tables.py --write"
        tables += re.findall(r"^<!-- table (\w+) -->\n\n[|`].*?^<!-- end -->$", text, re.M | re.S)
    made = ["errors", "estimators", "accuracy", "memories", "peers"]
    assert sorted(tables) == sorted([*made, *TABLES])


def test_no_mechanism_has_a_smaller_error_than_subset() -> None:
    for k in SIZES:
        for epsilon in EPSILONS:
            assert relative("Subset", k, epsilon) == pytest.approx(1, abs=1e-12), (k, epsilon)


def test_a_stale_table_is_noticed() -> None:
    text = MECHANISMS.read_text(encoding="utf-8")
    stale = text.replace("| ×1.39 |", "| ×1.38 |")
    assert same(text, fill(stale))
    assert not same(text, stale)
    text = (DOCS / "estimators" / "index.md").read_text(encoding="utf-8")
    stale = re.sub(r"\| `simplex` \| 1\.\d+", "| `simplex` | 0.001", text)
    assert same(text, fill(stale))
    assert not same(text, stale)


NUMBERS = sorted((Path(__file__).parent / "numbers").glob("*.md"))


@pytest.mark.parametrize("computed", NUMBERS, ids=lambda path: str(path.stem))
def test_the_numbers_that_are_computed_for_a_page_are_on_it(computed: Path) -> None:
    text = computed.read_text(encoding="utf-8")
    [page] = re.findall(r"^# Numbers of docs/(\S+)$", text, re.MULTILINE)
    said = " ".join((DOCS / page).read_text(encoding="utf-8").split())
    printed = re.findall(r"^(?!>>>|\.\.\.|```|#).*$", text, re.MULTILINE)
    for number in map(float, re.findall(r"\d+\.\d+", " ".join(printed))):
        forms = [f"{number:{form}}" for form in ("g", ".1f", ".2f", ".3f", ".4f")]
        forms.append(f"{100 * number:.0f} %")
        assert any(re.search(rf"(?<![\d.]){re.escape(form)}(?!\d)", said) for form in forms), number


ESTIMATORS = {*estimators.BY_NAME, "report_likelihood"}
OTHERWISE = {"selection", "joint", "independence", "smooth", "ems"}
"""For open questions, for several questions, and for answers with an order."""


def test_every_estimator_has_a_page_and_a_row() -> None:
    titled: list[str] = []
    for page in (DOCS / "estimators").glob("*.md"):
        title = page.read_text(encoding="utf-8").splitlines()[0]
        titled += re.findall(r"`(\w+)`", title)
    assert sorted(titled) == sorted(ESTIMATORS)
    text = (DOCS / "estimators" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(.*?)\]", section(text, "When to use which"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(ESTIMATORS)


def test_the_comparison_has_every_estimator_that_applies() -> None:
    krr, subset = (l1_errors(mechanism, "flat") for mechanism in COMPARED)
    assert set(krr) | set(subset) == ESTIMATORS - OTHERWISE
    assert set(krr) - set(subset) == {"likelihood", "em"}


def test_what_the_page_says_about_its_comparison_is_so() -> None:
    for mechanism in COMPARED:
        for law in LAWS:
            errors = l1_errors(mechanism, law)
            assert errors["shrinkage"] <= 1.01 * min(errors.values()), (mechanism, law)
    for mechanism in COMPARED:
        flat, point = l1_errors(mechanism, "flat"), l1_errors(mechanism, "point-like")
        for name in ("simplex", "composite", "base_cut", "norm_cut"):
            assert flat["normalized"] < flat[name]
            assert point[name] < point["normalized"]
    krr, subset = (l1_errors(mechanism, "flat") for mechanism in COMPARED)
    assert subset["unbiased"] < krr["unbiased"] / 2


WORDS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty twenty-one twenty-two"


def test_the_numbers_of_mechanisms_and_estimators_are_right() -> None:
    written = dict(enumerate(WORDS.split(), 13))
    mechanisms, found = written[len(BY_NAME) + len(OPEN) + len(SETS)], written[len(ESTIMATORS)]
    words = " ".join(README.read_text(encoding="utf-8").split())
    assert f"{mechanisms} mechanisms and {found} estimators" in words


def test_the_cli_page_begins_with_every_command() -> None:
    table = (DOCS / "cli.md").read_text(encoding="utf-8").split("\n\n")[1]
    assert sorted(re.findall(r"\[`(\w+)`\]\(", table)) == sorted(HELPS)


def test_the_cli_page_lists_the_options_of_estimate() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`--.*?) \|", section(text, "estimate"), re.MULTILINE)
    listed = re.findall(r"`(--\w+)", " ".join(rows))
    options = [p for p in estimate_command.params if isinstance(p, click.Option)]
    assert sorted(listed) == sorted(option.opts[0] for option in options)


def test_extras_that_pages_name_exist() -> None:
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(project["project"]["optional-dependencies"])
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"murmurs\[(\w+)\]", text))
    install = section(TOUR.read_text(encoding="utf-8"), "Install")
    rows = re.findall(r"^\| (`.*?) \|", install, re.MULTILINE)
    listed = set(re.findall(r"`(\w+)`", " ".join(rows))) | {"fast"}
    assert named <= extras
    assert listed == extras


def test_the_tests_that_the_page_of_threats_names_are_there() -> None:
    text = (DOCS / "threats.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[\w/.]*)`", text))
    assert len(named) > 8
    for name in named:
        assert (DOCS.parent / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        to = (page.parent / file).resolve() if file else page
        if to.parent == DOCS / "results" and not to.exists():  # a benchmark of that name writes it
            to = DOCS.parent / "benchmarks" / f"{to.stem}.py"
        assert to.exists(), f"{page.name} links to {target}"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", to.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles]
            repeated = [f"{slug}-{slugs[:i].count(slug)}" for i, slug in enumerate(slugs)]
            assert anchor in {*slugs, *repeated}, f"{page.name} links to {target}"
