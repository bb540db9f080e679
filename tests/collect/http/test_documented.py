"""Pages for operators name what there is: tables and columns, metrics and reasons."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from murmurs.collect.metrics import COUNTERS, GAUGES, SECONDS
from murmurs.collect.refusals import REASONS
from murmurs.collect.stores.postgresql import PostgreSQLStore
from murmurs.collect.stores.sqlite import SQLiteStore
from murmurs.collect.stores.store import keeps_reports
from tests.collect.conftest import new_schema
from tests.collect.made import EVERY_KIND
from tests.collect.postgresql_server import Server
from tests.pages import DOCS

_SQLITE = """
select m.name, c.name from sqlite_schema as m join pragma_table_info(m.name) as c
where m.type = 'table' and m.name not like 'sqlite_%'
"""
_POSTGRESQL = """
select table_name::text, column_name::text from information_schema.columns
where table_schema = current_schema()
"""


def documented() -> set[str]:
    page = (DOCS / "stores.md").read_text(encoding="utf-8")
    table = page.partition("## What is stored")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([a-z]+\.[a-z_]+)`", cell)}


def test_the_page_lists_what_is_stored(tmp_path: Path, server: Server) -> None:
    with contextlib.closing(SQLiteStore(tmp_path)) as store, store._read() as session:
        sqlite = {f"{table}.{column}" for table, column in session.run(_SQLITE)}
    with (
        contextlib.closing(PostgreSQLStore(new_schema(server))) as other,
        other._read() as session,
    ):
        postgresql = {f"{table}.{column}" for table, column in session.run(_POSTGRESQL)}
    assert sqlite | postgresql == documented()
    assert len(documented()) > 25
    assert sqlite - postgresql == {"surveys.changes"}
    assert postgresql - sqlite == {"changes.survey", "changes.slot", "changes.number"}


def test_reports_are_kept_only_for_joints_with_an_open_question() -> None:
    kept = [asked.name for asked in EVERY_KIND.reported if keeps_reports(asked)]
    assert kept == ["open product"]


def test_alerts_name_metrics_reasons_and_routes_that_there_are() -> None:
    page = (DOCS / "collector.md").read_text(encoding="utf-8")
    rules = (DOCS.parent / "deploy" / "alerts.yaml").read_text(encoding="utf-8")
    alerts = page.partition("What to alert on")[2] + rules
    metrics = set(re.findall(r"\b(murmurs_[a-z_]+)\b", alerts))
    assert len(metrics) >= 7
    assert metrics <= {*COUNTERS, *GAUGES, f"{SECONDS}_bucket"}
    reasons = {
        word for found in re.findall(r'reason=~"([^"]+)"', alerts) for word in found.split("|")
    }
    assert {"busy", "form"} < reasons <= set(REASONS)
    assert re.findall(r'route="([^"]+)"', alerts) == ["/submissions"]
