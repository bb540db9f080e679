"""What `murmurs encode --engine` does: columns of answers, encoded by key where the data is."""

from __future__ import annotations

import functools
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from murmurs.boundary.texts import numbered
from murmurs.boundary.writing import STANDARD, writing
from murmurs.cli.clusters import (
    Cluster,
    cluster_options,
    engine_option,
    reaching,
    refuse,
    taken,
)
from murmurs.cli.options import FilePath, Run, together
from murmurs.cli.output import Form, say
from murmurs.cli.wording import in_options
from murmurs.engines import Encoded
from murmurs.engines.sources import find
from murmurs.files.private_table import PrivateTable, sources_of
from murmurs.files.selection import Columns
from murmurs.files.tables import is_table
from murmurs.randomness.derived import check_secret
from murmurs.survey.survey import Survey


@dataclass(frozen=True)
class Engine:
    """The engine that was asked for, and what tells rows apart."""

    cluster: Cluster
    key: str | None
    secret: Path | None


def engine_options(run: Run) -> Run:
    """Add the options of engines; the command gets an ``engine``, None if none was asked for."""
    options = [
        engine_option("Encode columns of", "ANSWERS"),
        click.option(
            "--key",
            metavar="COLUMN",
            help="With --engine: the column that tells rows apart and never changes, such as an "
            "id. A task that runs twice then gives the same reports.",
        ),
        click.option(
            "--secret",
            type=FilePath(dir_okay=False),
            help="With --engine: a file with the secret of the job, made if it is not there. The "
            "same secret gives the same reports; without it, a new one is not kept.",
        ),
        cluster_options("comparison of keys"),
    ]

    @functools.wraps(run)
    def with_engine(*args: Any, key: str | None, secret: Path | None, **given: Any) -> Any:
        cluster = taken(given)
        if cluster is None:
            refuse({"--key": key, "--secret": secret}, "needs --engine")
            return run(*args, engine=None, **given)
        return run(*args, engine=Engine(cluster, key, secret), **given)

    return together(*options)(with_engine)  # type: ignore[return-value]


def encode_with_engine(
    engine: Engine,
    survey: Survey,
    sources: tuple[Path | str, ...],
    output: Path | str,
    form: Form,
    *,
    columns: Columns,
    asked: dict[str, str | None] | None,
    keep: tuple[str, ...],
    others: dict[str, Any],
    **labels: Any,
) -> None:
    """Encode columns of the sources, write a folder of reports, and say what a row costs."""
    engine.cluster.check(columns, others)
    if engine.key is None:
        raise ValueError(
            "--engine needs --key: a column that tells rows apart and never changes, such as an "
            "id. A task that runs twice must give the same reports, or whoever sees both sees "
            "epsilon twice. A row number is no such key, nor a time: make a column of ids first"
        )
    if output == STANDARD or is_table(Path(output)) or Path(output).suffix == ".bin":
        raise ValueError(
            f"-o {output}: an engine writes a folder of Parquet files: give the name of a new one"
        )
    with reaching():
        found = find([str(source) for source in sources])
        encoded: Encoded = engine.cluster.run(
            "encode",
            "encoding",
            found,
            output,
            survey,
            columns=asked,
            key=engine.key,
            keep=keep,
            secret=_secret(engine.secret),
            **labels,
        )
    table = PrivateTable(encoded.rows, sources_of(survey, asked), False, keep, False)
    costs, _, kept = table.notes
    missing = [
        f"{numbered(number, 'row')} {'has' if number == 1 else 'have'} no report to {name!r}."
        for name, number in encoded.missing.items()
    ]
    form.show(
        json=lambda: table.to_document() | {"missing": encoded.missing},
        text=lambda: f"{table} written to {output}",
    )
    if form.kind == "text":
        say(in_options("\n".join([*missing, costs, kept])))


def _secret(path: Path | None) -> bytes | None:
    """Return the secret in a file, in hexadecimal digits; a new one if there is no file."""
    if path is None:
        return None
    if not path.exists():
        made = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
        with writing(made, private=True) as file:
            file.write(secrets.token_hex(32).encode() + b"\n")
        try:
            os.link(made, path)  # unless another job has made one meanwhile: then both use that
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            made.replace(path)
        finally:
            made.unlink(missing_ok=True)
    try:
        return check_secret(bytes.fromhex(path.read_text("ascii")))
    except ValueError:
        raise ValueError(
            f"{path} has no secret: it must be at least 32 hexadecimal digits; name a file that "
            "is not there, and it is made"
        ) from None
