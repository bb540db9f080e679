"""Write a small store of the present format as SQL, for later releases to open.

``python -m tests.collect.make_format`` writes ``formats/sqlite-N.sql`` and
``formats/postgresql-N.sql`` with the tables as they are now, and ``formats/N.json`` with what the
store must say. Run it once when the format changes, and keep the files of earlier formats.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from murmurs.collect.stores import formats, postgresql_session, sqlite_session
from murmurs.collect.stores.sqlite import SQLiteStore
from murmurs.collect.stores.sqlite_ids import FEW
from murmurs.collect.stores.store import Part, Token
from murmurs.submission import Submission
from murmurs.survey.survey import Survey

FOLDER = Path(__file__).parent / "formats"
SURVEY = Survey.from_toml("""
name = "kept"
segments = ["north", "south"]

[[questions]]
name = "hot"
labels = ["yes", "no"]
mechanism = {name = "KRR", epsilon = 1.0}

[[questions]]
name = "age"
labels = ["young", "old"]
mechanism = {name = "KRR", epsilon = 1.0}

[[questions]]
name = "pet"
mechanism = {name = "ORR", epsilon = 2.0, width = 4, cohorts = 2}

[[joint]]
questions = ["age", "pet"]
""")


def told(store: SQLiteStore | Any) -> dict[str, Any]:
    """Return what a store says of everything that it holds."""
    (found,) = store.collections()
    survey = found.survey
    return {
        "survey": survey.fingerprint,
        "state": found.state,
        "days": [[*key, n] for key, n in store.days(survey.fingerprint, "hot").items()],
        "counts": {
            asked.name: store.counts(Part(survey.fingerprint, asked.name)).cells.tolist()
            for asked in survey.reported
        },
        "kept": sum(map(len, store.reports(Part(survey.fingerprint, "age+pet")))),
        "tokens": [[t.name, t.digest.hex(), t.scope, list(t.surveys)] for t in store.tokens()],
        "duplicate": store.add([sent(0)], 20_009),
    }


def sent(number: int) -> Submission:
    """Return a submission of three people that never changes."""
    pet = number % 8
    reports = {"hot": bytes([number % 2, 1, 0]), "age+pet": bytes([0, pet, 1, 7, 1, 2])}
    segment = SURVEY.segments[number % 2]
    return Submission(SURVEY.fingerprint, bytes([number] * 16), 3, reports, segment)


def literal(value: object, kind: str) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'" if kind == "sqlite" else f"'\\x{value.hex()}'"
    return str(value) if isinstance(value, int) else "'{}'".format(str(value).replace("'", "''"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(folder)
        store.publish(SURVEY, 20_000)
        for seed in range(4):
            store.add([sent(seed)], 20_000 + seed % 2)
            if seed == 1:
                store.fold()
        store.add([sent(seed) for seed in range(4, 4 + FEW)], 20_001)
        store.set_state(SURVEY.fingerprint, "closed")
        store.add_token(Token("dashboard", bytes(range(32)), "read", ("kept",)))
        FOLDER.mkdir(exist_ok=True)
        expected = json.dumps(told(store), indent=1)
        (FOLDER / f"{formats.FORMAT}.json").write_text(expected + "\n")
        for kind, schema in (
            ("sqlite", sqlite_session.SCHEMA),
            ("postgresql", postgresql_session.SCHEMA),
        ):
            lines = [schema.strip(), f"insert into meta values ('format', '{formats.FORMAT}');"]
            tables = dict(formats.COLUMNS)
            if kind == "sqlite":
                tables["recent_ids"] = ("number", "survey", "day", "ids")
            else:
                store._file_ids()  # there are no recent ones
            with store._read() as session:
                for table, columns in tables.items():
                    names = ", ".join(columns)
                    for row in session.run(f"select {names} from {table}"):
                        values = ", ".join(literal(value, kind) for value in row)
                        lines.append(f"insert into {table} ({names}) values ({values});")
                    if "number" in columns and kind == "postgresql":
                        lines.append(
                            f"select setval(pg_get_serial_sequence('{table}', 'number'), 1000);"
                        )
            (FOLDER / f"{kind}-{formats.FORMAT}.sql").write_text("\n".join(lines) + "\n")
        store.close()


if __name__ == "__main__":
    main()
