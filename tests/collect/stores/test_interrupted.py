"""A transaction may end at any statement: what was added before it is unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from murmurs.collect.stores.relational import Relational
from murmurs.collect.stores.store import Part, Store
from tests.collect.made import EVERY_KIND, PLAIN, Model, check_same, submission

NAMES = ["category", "open product"]
PARTS = [Part(EVERY_KIND.fingerprint, name) for name in NAMES]


class EndError(BaseException):
    """The end of the process, as far as a transaction can tell."""


class Ending:
    """A transaction that ends before its statement number ``left``."""

    def __init__(self, session: Any, left: list[int]) -> None:
        self._session, self._left = session, left

    def __getattr__(self, name: str) -> Any:
        if not self._left[0]:
            raise EndError
        self._left[0] -= 1
        return getattr(self._session, name)


def ends_everywhere(
    store: Store, monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any], check: Callable[[], Any]
) -> tuple[int, Any]:
    """Let a call end at its first statement, its second, and so on, until it comes to its end."""
    assert isinstance(store, Relational)
    write = store._write
    for number in range(200):
        left = [number]
        with monkeypatch.context() as patch:
            patch.setattr(
                store, "_write", lambda work, left=left: write(lambda s: work(Ending(s, left)))
            )
            try:
                return number, call()
            except EndError:
                pass
        check()
    raise AssertionError("the call never comes to its end")


@pytest.fixture
def model(store: Store) -> Model:
    found = Model()
    store.publish(EVERY_KIND, 1)
    found.states[EVERY_KIND.fingerprint] = "open"
    for seed in range(4):
        group = [submission(EVERY_KIND, seed, names=NAMES)]
        store.add(group, 1 + seed % 2)
        found.add(group, 1 + seed % 2)
        if seed == 1:
            store.fold()
    return found


def test_a_fold_that_ends_anywhere_changes_no_counts(
    store: Store, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check() -> None:
        check_same(store, model, PARTS)

    number, _ = ends_everywhere(store, monkeypatch, store.fold, check)
    assert number > 10
    check()
    store.verify()


def test_adding_that_ends_anywhere_adds_nothing(
    store: Store, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [submission(EVERY_KIND, seed, names=NAMES) for seed in (8, 9)]
    number, added = ends_everywhere(
        store, monkeypatch, lambda: store.add(sent, 3), lambda: check_same(store, model, PARTS)
    )
    assert number > 4
    assert added == model.add(sent, 3) == [True, True]
    check_same(store, model, PARTS)


def test_publishing_that_ends_anywhere_publishes_nothing(
    store: Store, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, _ = ends_everywhere(
        store, monkeypatch, lambda: store.publish(PLAIN, 1), lambda: check_same(store, model, PARTS)
    )
    assert number >= 3
    model.states[PLAIN.fingerprint] = "open"
    check_same(store, model, PARTS)
    assert store.add([submission(PLAIN, 1)], 1) == [True]


def test_forgetting_that_ends_anywhere_can_be_called_again(
    store: Store, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = {(1, "north"), (2, "south")}

    def check() -> None:
        store.verify()  # counts and kept reports are of the same days
        for name in NAMES:
            assert {*store.days(EVERY_KIND.fingerprint, name)} <= days

    forget = lambda: store.forget_reports(EVERY_KIND.fingerprint, 2)  # noqa: E731
    number, _ = ends_everywhere(store, monkeypatch, forget, check)
    assert number > 4
    model.forget_reports(EVERY_KIND.fingerprint, 2)
    check_same(store, model, PARTS)
