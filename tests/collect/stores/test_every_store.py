"""What every store promises, held against a plain model: the same counts, to the last unit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from murmurs.collect.stores import folding, formats, open_store
from murmurs.collect.stores.restore import restore
from murmurs.collect.stores.session import Session
from murmurs.collect.stores.sqlite import SQLiteStore
from murmurs.collect.stores.store import ERA, Part, Store, StoreError, Token, UnknownSurveyError
from murmurs.submission import Submission
from tests.collect.conftest import NewPlace
from tests.collect.made import EVERY_KIND, FORMS, PLAIN, Model, check_same, submission

KINDS = [asked.name for asked in EVERY_KIND.reported]
E, P = EVERY_KIND.fingerprint, PLAIN.fingerprint


def filled(store: Store, n: int = 6, day: int = 20_000) -> Model:
    """Publish both surveys, and add submissions of three days, some of them folded."""
    model = Model()
    for survey in (EVERY_KIND, PLAIN):
        store.publish(survey, day)
        model.states[survey.fingerprint] = "open"
    for number in range(n):
        group = [submission(EVERY_KIND, number), submission(PLAIN, number)]
        assert store.add(group, day + number % 3) == model.add(group, day + number % 3)
        if number == n // 2:
            store.fold()
    return model


@pytest.mark.parametrize("folded", [False, True])
def test_counts_are_those_of_the_mechanism_for_every_kind(store: Store, folded: bool) -> None:
    model = filled(store)
    if folded:
        store.fold()
    parts = [
        Part(E, name, segment, first, last)
        for name in KINDS
        for segment in (None, "north", "south")
        for first, last in ((None, None), (20_001, None), (None, 20_000), (20_001, 20_001))
    ]
    check_same(store, model, [*parts, Part(P, "hot"), Part(P, "hot", None, 0, 10)])
    assert model.counts(Part(E, "category", "north", 20_001, 20_001)).n > 0


def test_folds_in_many_small_parts_lose_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "MOST_AT_ONCE", 8)
    monkeypatch.setattr(folding, "_LARGE", 20)
    model = filled(store, n=9)
    check_same(store, model)
    store.fold()
    check_same(store, model)
    store.verify()
    assert len(list(store.reports(Part(E, "open product")))) > 6  # more rows than days and segments


def test_reports_that_are_deleted_during_a_fold_are_not_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = filled(store)
    deleted: list[int] = []

    def delete_meanwhile(self: folding.Fold) -> None:
        if not deleted:
            deleted.append(store.forget_reports(E, 20_002))
        prepare(self)

    prepare = folding.Fold.prepare
    monkeypatch.setattr(folding.Fold, "prepare", delete_meanwhile)
    store.fold()
    assert deleted == [model.forget_reports(E, 20_002)]
    check_same(store, model)
    store.verify()


def test_an_id_counts_once_within_a_call_and_across_calls(store: Store) -> None:
    store.publish(PLAIN, 1)
    one, two = submission(PLAIN, 1), submission(PLAIN, 2)
    assert store.add([one, two, one], 1) == [True, True, False]
    assert store.add([two], 2) == [False]
    store.fold()
    assert store.add([one], 3) == [False]
    assert store.counts(Part(P, "hot")).n == 6
    assert store.days(P, "hot") == {(1, None): 6}


def test_the_same_id_with_other_content_is_a_duplicate(store: Store) -> None:
    store.publish(PLAIN, 1)
    one = submission(PLAIN, 1)
    other = Submission(P, one.id, 1, {"hot": b"\x01"})
    assert store.add([one, other], 1) == [True, False]
    assert store.counts(Part(P, "hot")).n == 3


def test_ids_belong_to_their_survey(store: Store) -> None:
    store.publish(PLAIN, 1)
    store.publish(EVERY_KIND, 1)
    one = submission(PLAIN, 1)
    other = submission(EVERY_KIND, 1, names=["category"])
    other = Submission(E, one.id, other.people, other.reports, other.segment)
    assert store.add([one, other], 1) == [True, True]


def test_adding_nothing_changes_nothing(store: Store) -> None:
    store.publish(PLAIN, 1)
    before = store.changes(P)
    assert store.add([], 1) == []
    assert store.changes(P) == before


def test_a_group_with_an_unknown_survey_is_refused_whole(store: Store) -> None:
    store.publish(PLAIN, 1)
    with pytest.raises(UnknownSurveyError, match=f"fingerprint '{E[:12]}': add it first"):
        store.add([submission(PLAIN, 1), submission(EVERY_KIND, 2)], 1)
    assert store.counts(Part(P, "hot")).n == 0
    assert store.add([submission(PLAIN, 1)], 1) == [True]


def test_a_submission_that_does_not_fit_is_refused_whole(store: Store) -> None:
    store.publish(EVERY_KIND, 1)
    bad = Submission(E, bytes(16), 1, {"category": b"\x01"}, "nowhere")
    with pytest.raises(KeyError):
        store.add([submission(EVERY_KIND, 1), bad], 1)
    assert store.counts(Part(E, "category")).n == 0
    assert store.add([submission(EVERY_KIND, 1)], 1) == [True]


def test_surveys_come_in_order_with_their_states(store: Store) -> None:
    store.publish(EVERY_KIND, 5)
    store.publish(PLAIN, 6)
    store.set_state(E, "closed")
    store.publish(EVERY_KIND, 7)
    found = [(c.survey, c.state, c.first_day) for c in store.collections()]
    assert found == [(EVERY_KIND, "closed", 5), (PLAIN, "open", 6)]
    store.set_state(E, "open")
    assert store.collections()[0].state == "open"
    with pytest.raises(ValueError, match="a survey is 'open' or 'closed', not 'ajar'"):
        store.set_state(E, "ajar")  # type: ignore[arg-type]


def test_a_deleted_survey_leaves_nothing(store: Store) -> None:
    model = filled(store)
    store.delete(E)
    model.delete(E)
    check_same(store, model)
    for call in (
        lambda: store.counts(Part(E, "category")),
        lambda: store.days(E, "category"),
        lambda: store.changes(E),
        lambda: store.delete(E),
        lambda: store.set_state(E, "open"),
        lambda: store.forget_reports(E, 1),
        lambda: next(store.reports(Part(E, "open product"))),
    ):
        with pytest.raises(UnknownSurveyError):
            call()
    store.publish(EVERY_KIND, 9)
    model.states[E] = "open"
    check_same(store, model)
    group = [submission(EVERY_KIND, 0)]  # its id was deleted too
    assert store.add(group, 9) == model.add(group, 9) == [True]
    check_same(store, model)


def test_ids_are_forgotten_before_a_day(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("murmurs.collect.stores.sqlite.IDS_AT_ONCE", 2)
    monkeypatch.setattr("murmurs.collect.stores.postgresql.BLOCKS_AT_ONCE", 1)
    model = filled(store)
    assert store.forget_ids(20_001) == model.forget_ids(20_001) == 4
    again = [submission(survey, n) for survey in (EVERY_KIND, PLAIN) for n in range(6)]
    assert store.add(again, 20_003) == model.add(again, 20_003)
    check_same(store, model)
    assert store.forget_ids(0) == 0
    assert store.forget_ids(10**6) == model.forget_ids(10**6)


def test_reports_are_forgotten_before_a_day(store: Store) -> None:
    model = filled(store)
    assert store.forget_reports(E, 20_001) == model.forget_reports(E, 20_001) > 0
    check_same(store, model)
    assert store.add([submission(EVERY_KIND, 0)], 20_003) == [False]  # ids stay
    assert store.forget_reports(E, 20_001) == 0


def test_changes_grow_with_reports_and_with_nothing_else(store: Store) -> None:
    model = filled(store)
    assert model.states
    seen = [store.changes(E)]
    others = store.changes(P)
    assert store.add([submission(EVERY_KIND, 100)], 20_000) == [True]
    seen.append(store.changes(E))
    assert store.add([submission(EVERY_KIND, 100)], 20_000) == [False]
    store.fold()
    assert store.changes(E) == seen[-1]
    store.forget_reports(E, 20_001)
    seen.append(store.changes(E))
    assert sorted(set(seen)) == seen
    assert store.changes(P) == others


def test_changes_of_a_survey_that_is_published_again_are_later_ones(store: Store) -> None:
    filled(store)
    before = store.changes(P)
    store.delete(P)
    store.publish(PLAIN, 20_000)
    assert store.changes(P) > before
    assert store.changes(P) // ERA > before // ERA


def test_reports_are_refused_where_only_counts_are_kept(store: Store) -> None:
    store.publish(PLAIN, 1)
    with pytest.raises(ValueError, match="reports to 'hot' are not kept"):
        next(store.reports(Part(P, "hot")))


def test_unknown_questions_and_segments_are_refused(store: Store) -> None:
    store.publish(PLAIN, 1)
    with pytest.raises(ValueError, match="takes no reports to 'cold'; it takes reports to 'hot'"):
        store.counts(Part(P, "cold"))
    with pytest.raises(ValueError, match="no segment 'north'"):
        store.counts(Part(P, "hot", "north"))


def test_kept_reports_do_not_tell_the_order_in_which_they_came(store: Store) -> None:
    store.publish(EVERY_KIND, 1)
    for seed in range(8):
        store.add([submission(EVERY_KIND, seed, people=20, segment="north")], 1)
        if seed % 3 == 0:
            store.fold()
    store.fold()
    (batch,) = store.reports(Part(E, "open product"))
    size = EVERY_KIND.asked("open product").mechanism.shape.size
    rows = [batch[i : i + size] for i in range(0, len(batch), size)]
    assert rows == sorted(rows)
    assert len(rows) == 160


def test_reading_reports_is_of_one_moment(store: Store) -> None:
    model = filled(store)
    part = Part(E, "open product")
    reading = store.reports(part)
    batches = [next(reading)]
    store.add([submission(EVERY_KIND, 50)], 20_000)
    store.fold()
    batches += reading
    assert sum(map(len, batches)) == len(model.reports(part))
    unfinished = store.reports(part)
    next(unfinished)
    assert isinstance(unfinished, Generator)
    unfinished.close()
    store.fold()


def test_tokens_are_kept_and_revoked(store: Store) -> None:
    one = Token("dashboard", b"\x00\xff" * 16, "read", ("coffee", "tea"))
    two = Token("all", bytes(32), "admin")
    store.add_token(one)
    store.add_token(two)
    assert store.tokens() == (two, one)
    with pytest.raises(ValueError, match="there is a token called 'all': revoke it"):
        store.add_token(Token("all", b"x" * 32, "read"))
    assert store.tokens() == (two, one)
    store.revoke("all")
    assert store.tokens() == (one,)
    with pytest.raises(ValueError, match="there is no token called 'all'"):
        store.revoke("all")


def test_everything_is_there_after_closing_and_opening(place: str) -> None:
    with contextlib.closing(open_store(place)) as store:
        model = filled(store)
        store.set_state(P, "closed")
        model.states[P] = "closed"
        store.add_token(Token("t", bytes(32), "submit"))
    with contextlib.closing(open_store(place)) as store:
        check_same(store, model)
        assert [token.name for token in store.tokens()] == ["t"]
        assert store.add([submission(PLAIN, 0)], 20_000) == [False]


def test_a_closed_store_says_so(place: str) -> None:
    store = open_store(place)
    store.close()
    store.close()
    for call in (store.collections, store.fold, store.check):
        with pytest.raises(StoreError, match="was closed"):
            call()


def test_upkeep_changes_no_counts(store: Store) -> None:
    model = filled(store)
    before = store.size()
    assert before > 0
    store.fold()
    store.fold()
    store.vacuum()
    store.check()
    store.verify()
    check_same(store, model)


def test_a_backup_is_restored_to_every_kind_of_store(
    store: Store, new_place: NewPlace, backup: Path, tmp_path: Path
) -> None:
    model = filled(store)
    store.set_state(P, "closed")
    model.states[P] = "closed"
    token = Token("t", bytes(range(32)), "read", ("plain",))
    store.add_token(token)
    store.backup(backup)
    for place in (new_place(), str(tmp_path / "sqlite")):
        with contextlib.closing(restore(backup, place)) as other:
            check_same(other, model)
            assert other.tokens() == (token,)
            if isinstance(other, SQLiteStore):
                assert other._pragma("auto_vacuum") == 2  # it can give room back
            again = [submission(PLAIN, 0), submission(PLAIN, 77)]
            assert other.add(again, 20_009) == [False, True]
            other.fold()
            other.verify()
            other.publish(EVERY_KIND, 1)
        with pytest.raises(StoreError, match="restore to a new"):
            restore(backup, place)
    with pytest.raises(FileExistsError, match="a backup is written to a new file"):
        store.backup(backup)
    with pytest.raises(FileNotFoundError, match="there is no such directory"):
        store.backup(backup.parent / "nowhere" / "backup.sqlite")
    check_same(store, model)
    assert [path.name for path in backup.parent.iterdir() if path.is_file()] == [backup.name]


def test_a_backup_can_be_read_by_its_owner_only(store: Store, backup: Path) -> None:
    filled(store)
    store.backup(backup)
    assert backup.stat().st_mode & 0o777 == 0o600


def test_a_backup_while_adding_has_whole_submissions(
    store: Store, new_place: NewPlace, tmp_path: Path
) -> None:
    store.publish(EVERY_KIND, 1)
    names = ["category", "open product"]
    sent = [submission(EVERY_KIND, n, names=names) for n in range(60)]
    acknowledged: list[Submission] = []
    stop = threading.Event()

    def collect() -> None:
        for place, one in enumerate(sent):
            store.add([one], 1)
            acknowledged.append(one)
            if place % 10 == 9:
                store.fold()
        stop.set()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(collect)
        before = len(acknowledged)
        while before < 20:
            before = len(acknowledged)
        store.backup(tmp_path / "during.sqlite")
        after = len(acknowledged)
        running.result()
    with contextlib.closing(restore(tmp_path / "during.sqlite", new_place())) as other:
        n = other.counts(Part(E, "category")).n
        assert before * 3 <= n <= (after + 1) * 3
        assert n == other.counts(Part(E, "open product")).n
        assert n == sum(len(b) for b in other.reports(Part(E, "open product"))) // 4
        flags = other.add(sent, 2)
        assert flags.count(False) * 3 == n
        assert other.counts(Part(E, "category")) == store.counts(Part(E, "category"))


def test_several_threads_add_the_same_submissions_once(store: Store) -> None:
    store.publish(PLAIN, 1)
    sent = [submission(PLAIN, n) for n in range(40)]

    def resend(seed: int) -> int:
        order = np.random.default_rng(seed).permutation(len(sent))
        groups = [[sent[i] for i in order[start : start + 7]] for start in range(0, 40, 7)]
        return sum(sum(store.add(group, 1)) for group in groups)

    with ThreadPoolExecutor(4) as pool:
        folding = pool.submit(lambda: [store.fold() for _ in range(10)])
        assert sum(pool.map(resend, range(3))) == 40
        folding.result()
    assert store.counts(Part(P, "hot")).n == 120
    store.verify()


def test_an_interrupted_deletion_is_finished(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(place)
    model = filled(store)
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "_sweep", lambda self: None)
        store.delete(E)
    model.delete(E)
    check_same(store, model)  # it is gone for everybody at once
    with pytest.raises(UnknownSurveyError):
        store.add([submission(EVERY_KIND, 1)], 1)
    store.close()
    with contextlib.closing(open_store(place)) as store:
        store.publish(EVERY_KIND, 1)
        model.states[E] = "open"
        check_same(store, model)
        assert store.add([submission(EVERY_KIND, 1)], 1) == [True]


def test_a_store_of_a_later_format_is_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(formats, "FORMAT", formats.FORMAT + 1)
        open_store(place).close()
    rule = f"has format {formats.FORMAT + 1}, this release reads up to {formats.FORMAT}: upgrade"
    for collecting in (True, False):
        with pytest.raises(StoreError, match=rule):
            open_store(place, collecting=collecting)


def test_migrations_run_once_and_whole(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(open_store(place)) as store:
        model = filled(store)

    def step(session: Session) -> None:
        session.run("create table extra (number integer)")
        session.run("insert into extra values (7)")

    def broken(session: Session) -> None:
        step(session)
        session.run("insert into nowhere values (1)")

    monkeypatch.setattr(formats, "FORMAT", formats.FORMAT + 1)
    monkeypatch.setattr(formats, "MIGRATIONS", {formats.FORMAT - 1: broken})
    with pytest.raises(StoreError, match="nowhere"):
        open_store(place)
    monkeypatch.setattr(formats, "MIGRATIONS", {formats.FORMAT - 1: step})
    with pytest.raises(StoreError, match="open it once with `murmurs serve`"):
        open_store(place, collecting=False)
    for _ in range(2):
        with contextlib.closing(open_store(place)) as store:
            check_same(store, model)


def test_beside_a_collector_one_reads_and_keeps_up(place: str, backup: Path) -> None:
    with pytest.raises(StoreError, match="there is no store in"):
        open_store(place, collecting=False)
    with contextlib.closing(open_store(place)) as store:
        model = filled(store)
        with contextlib.closing(open_store(place, collecting=False)) as beside:
            check_same(beside, model)
            for call in (
                lambda: beside.add([submission(PLAIN, 99)], 1),
                lambda: beside.publish(PLAIN, 1),
                beside.check,
            ):
                with pytest.raises(StoreError, match=r"opened (beside|for reading)"):
                    call()
            beside.fold()
            beside.vacuum()
            beside.backup(backup)
            check_same(beside, model)
        group = [submission(PLAIN, 99)]
        assert store.add(group, 20_000) == model.add(group, 20_000)
        check_same(store, model)


def test_a_store_above_its_quota_takes_no_more_until_there_is_room(place: str) -> None:
    with contextlib.closing(open_store(place)) as store:
        model = filled(store)
        size = store.size()
    with contextlib.closing(open_store(place, quota=size // 100)) as store:
        with pytest.raises(StoreError, match=r"its quota is [0-9,]+: raise the quota, or delete"):
            store.add([submission(PLAIN, 50)], 20_000)
        with pytest.raises(StoreError, match="quota"):
            store.check()
        store.fold()
        check_same(store, model)
    with contextlib.closing(open_store(place, quota=100 * size)) as store:
        assert store.add([submission(PLAIN, 50)], 20_000) == [True]


Steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.integers(0, 11), max_size=5), st.integers(0, 3)),
        st.tuples(st.sampled_from(["fold", "open", "delete", "publish", "vacuum"])),
        st.tuples(st.just("forget_ids"), st.integers(0, 4)),
        st.tuples(st.just("forget_reports"), st.integers(0, 4)),
    ),
    max_size=14,
)
SOME = [
    submission(survey, n, names=["hot", "category", "open product"])
    for n in range(6)
    for survey in (EVERY_KIND, PLAIN)
]


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=Steps)
def test_any_sequence_of_calls_agrees_with_the_model(
    new_place: NewPlace, steps: list[tuple[Any, ...]]
) -> None:
    place, model = new_place(), Model()
    store = open_store(place)
    for survey in (EVERY_KIND, PLAIN):
        store.publish(survey, 0)
        model.states[survey.fingerprint] = "open"
    for name, *given_ in steps:
        if name == "add":
            chosen = [SOME[i] for i in given_[0] if SOME[i].survey in model.states]
            assert store.add(chosen, given_[1]) == model.add(chosen, given_[1])
        elif name == "open":
            store.close()
            store = open_store(place)
        elif name == "delete":
            if E in model.states:
                store.delete(E)
                model.delete(E)
        elif name == "publish":
            store.publish(EVERY_KIND, 0)
            model.states.setdefault(E, "open")
        elif name == "forget_ids":
            assert store.forget_ids(given_[0]) == model.forget_ids(given_[0])
        elif name == "forget_reports":
            assert store.forget_reports(P, given_[0]) == model.forget_reports(P, given_[0])
        else:
            getattr(store, name)()
    check_same(store, model)
    store.verify()
    store.close()


def test_the_model_counts_what_was_submitted() -> None:
    model = Model()
    one = submission(PLAIN, 1)
    assert model.add([one, one], 3) == [True, False]
    assert model.counts(Part(P, "hot")) == FORMS[P].survey.question("hot").count(one.reports["hot"])
    assert model.counts(Part(P, "hot", None, 4)).n == 0
