"""A rehearsal: a file sets the date, and nothing of it can be taken for a real collection."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from murmurs import Survey
from murmurs.collect.http.collector import Settings
from murmurs.collect.http.server import Address
from murmurs.collect.rehearsal import MARK, FileClock, check_rehearsal
from murmurs.collect.service import Plan, started
from murmurs.collect.stores import open_store
from murmurs.submission import SubmissionForm

SURVEY = Survey.from_toml("""
name = "coffee"
every = "week"
[[questions]]
name = "drink"
labels = ["espresso", "tea"]
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}
""")
FIRST = datetime.date(1970, 1, 1)


def plan(folder: Path, host: str = "127.0.0.1", *, clock: bool = True) -> Plan:
    date = folder / "date.txt" if clock else None
    return Plan(str(folder / "store"), (SURVEY,), Address(host, 0), Settings(), clock=date)


def test_what_arrives_is_kept_under_the_date_in_the_file(tmp_path: Path) -> None:
    date, form = tmp_path / "date.txt", SubmissionForm(SURVEY)
    days = [datetime.date(2027, 1, 4) + datetime.timedelta(weeks=week) for week in range(12)]
    date.write_text(str(days[0]))
    with started(plan(tmp_path)) as running:
        collector = running.server.collector
        for day in days:
            date.write_text(f"{day}\n")
            assert collector.today == (day - FIRST).days
            assert collector.unfinished_day == collector.today
            collector.writer.add([form.make({"drink": [b"\x01"]})]).result(30)
        found = collector.store.days(SURVEY.fingerprint, "drink")
        [collection] = collector.store.collections()
    assert found == {((day - FIRST).days, None): 1 for day in days}
    assert collection.first_day == (days[0] - FIRST).days


def test_the_last_date_stays_while_the_file_is_written(tmp_path: Path) -> None:
    date = tmp_path / "date.txt"
    date.write_text("2027-01-04")
    clock = FileClock(date)
    noon = clock()
    for text in ("", "2027-01", "soon"):
        date.write_text(text)
        assert clock() == noon
    date.unlink()
    assert clock() == noon
    date.write_text("2027-01-05\n")
    assert clock() == noon + 86400


@pytest.mark.parametrize("text", ["", "today", "4.1.2027", "2027-13-01"])
def test_a_file_without_a_date_is_refused_at_the_start(text: str, tmp_path: Path) -> None:
    (tmp_path / "date.txt").write_text(text)
    with pytest.raises(ValueError, match=r"is a file with one date, such as 2027-01-04"):
        FileClock(tmp_path / "date.txt")


def test_a_rehearsal_does_not_mix_with_a_collection(tmp_path: Path) -> None:
    (tmp_path / "date.txt").write_text("2027-01-04")
    with started(plan(tmp_path)):
        pass
    assert (tmp_path / "store" / MARK).exists()
    with pytest.raises(ValueError, match=r"is the store of a rehearsal, whose days are made up"):
        started(plan(tmp_path, clock=False)).__enter__()
    with started(plan(tmp_path)):  # it goes on
        pass
    other = tmp_path / "other"
    open_store(other).close()
    with pytest.raises(ValueError, match=r"is not the store of a rehearsal"):
        check_rehearsal(str(other), "127.0.0.1", rehearsed=True)
    assert not (other / MARK).exists()


@pytest.mark.parametrize(
    ("place", "host", "rule"),
    [
        ("new", "0.0.0.0", "for this computer alone"),
        ("new", "192.168.1.7", "for this computer alone"),
        ("postgresql://db.example/surveys", "127.0.0.1", "is kept in a directory"),
    ],
)
def test_a_rehearsal_is_for_one_computer(
    place: str, host: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=rule):
        check_rehearsal(place, host, rehearsed=True)
    check_rehearsal(place, host, rehearsed=False)
