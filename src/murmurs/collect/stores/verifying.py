"""Whether everything in a store is as it was written: reports, counts, and their numbers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import numbered
from murmurs.collect.stores.cells import unpack_cells
from murmurs.collect.stores.session import Session
from murmurs.collect.stores.store import DamagedError, StoreError, Token, keeps_reports
from murmurs.collect.stores.sums import check_sum
from murmurs.counts import Counts
from murmurs.questions.asked import Asked


def read_token(name: object, digest: object, scope: object, surveys: object) -> Token | None:
    """Return a token from its row; None if it is damaged.

    >>> read_token("dashboard", bytes(32), "read", '["coffee"]').surveys
    ('coffee',)
    >>> read_token("dashboard", bytes(32), "read", '["coffee"}')
    """
    try:
        fields = {"name": name, "digest": digest, "scope": scope}
        return msgspec.convert({**fields, "surveys": msgspec.json.decode(str(surveys))}, Token)
    except msgspec.MsgspecError:
        return None


def verify(session: Session, asked: Mapping[int, Asked], *, sums_only: bool = False) -> None:
    """Read all reports and counts of the series of some questions; refuse what does not fit."""
    for name, *row in session.run("select name, digest, scope, surveys from tokens"):
        if read_token(name, *row) is None:
            raise DamagedError(f"the token {shown(name)} is damaged: revoke it, and make another")
    kept: dict[tuple[int, int], int] = {}
    for table in ("kept", "recent"):
        rows = session.stream(f"select series, day, n, reports, crc from {table}")
        for series, day, n, blob, crc in rows:
            check_sum(series, day, n, blob, crc)
            if series in asked and not sums_only:  # else its survey is being deleted
                _check_reports(asked[series], blob, n, day)
                if table == "kept":
                    kept[series, day] = kept.get((series, day), 0) + n
    cells = session.stream("select series, day, n, cells, crc from counts", at_once=100)
    for series, day, n, blob, crc in cells:
        check_sum(series, day, n, blob, crc)
        if series in asked and not sums_only:
            _check_counts(asked[series], blob, n, day, kept.get((series, day), 0))


def _check_reports(asked: Asked, blob: bytes, n: int, day: int) -> None:
    try:
        found = len(asked.mechanism.shape.from_bytes(blob))
    except ValueError as error:
        raise StoreError(f"reports to {shown(asked.name)} of day {day}: {error}") from None
    if found != n:
        raise StoreError(
            f"day {day} has {numbered(found, 'report')} to {shown(asked.name)}, not {n}"
        )


def _check_counts(asked: Asked, blob: bytes, n: int, day: int, kept: int) -> None:
    try:
        Counts(asked.mechanism, n, unpack_cells(blob, asked.mechanism.channel.cells))
    except ValueError as error:
        raise StoreError(f"counts of {shown(asked.name)} of day {day}: {error}") from None
    if keeps_reports(asked) and kept != n:
        raise StoreError(f"day {day} has {kept} kept reports to {shown(asked.name)}, not {n}")
