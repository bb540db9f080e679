"""The options of engines and their clusters, which `murmurs count` and `encode` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from murmurs.cli.options import Run, together
from murmurs.cli.progress import progress_bar
from murmurs.cli.suggestions import Choice
from murmurs.cli.wording import in_options
from murmurs.engines import NAMES, dask, local, spark
from murmurs.files.selection import Columns
from murmurs.present.text import printable


class NotReached(click.ClickException):
    """A cluster or a store does not answer: the same command may succeed later."""

    exit_code = 1


@dataclass(frozen=True)
class Cluster:
    """The engine that was asked for, and where it runs."""

    name: str
    scratch: str | None = None
    scheduler: str | None = None
    master: str | None = None

    def check(self, columns: Columns, others: dict[str, Any]) -> None:
        """Refuse options that say nothing to an engine, and the address of another's cluster."""
        others |= {
            "--format": columns.format,
            "--delimiter": columns.delimiter,
            "--no-header": not columns.header,
        }
        refuse(others, "is for files that are read here one by one: leave it or --engine out")
        if self.name != "dask":
            refuse({"--scheduler": self.scheduler}, "is for --engine dask")
        if self.name != "spark":
            refuse({"--master": self.master}, "is for --engine spark")

    def run(self, function: str, doing: str, *given: Any, **options: Any) -> Any:
        """Run a function of the engine, with a progress bar."""
        engine, where = {
            "local": (local, dict[str, Any]()),
            "dask": (dask, {"scheduler": self.scheduler}),
            "spark": (spark, {"master": self.master}),
        }[self.name]
        with progress_bar(doing) as progress:
            return getattr(engine, function)(
                *given, progress=progress, scratch=self.scratch, **where, **options
            )


def engine_option(does: str, sources: str) -> Callable[[Run], Run]:
    """Return the option --engine, which is read before the sources."""
    return click.option(
        "--engine",
        "named_engine",
        type=Choice(NAMES),
        is_eager=True,
        help=f"{does} Parquet or Arrow files in one pass: on all cores (local), or on a cluster. "
        f"{sources} may be addresses such as s3://bucket/day.",
    )


def cluster_options(what: str) -> Callable[[Run], Run]:
    """Return the options of a cluster; ``what`` is in the scratch folder."""
    return together(
        click.option(
            "--scratch",
            metavar="FOLDER",
            help=f"A folder that all workers see, for the {what}; it may be on an object store.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="The address of a Dask scheduler, such as tcp://10.0.0.1:8786.",
        ),
        click.option(
            "--master",
            metavar="ADDRESS",
            help="The address of a Spark cluster, such as spark://10.0.0.1:7077.",
        ),
    )


def taken(given: dict[str, Any]) -> Cluster | None:
    """Take the options of a cluster from those of a command; None if no engine was asked for."""
    name = given.pop("named_engine")
    own = {option: given.pop(option) for option in ("scratch", "scheduler", "master")}
    if name is not None:
        return Cluster(name, **own)
    refuse({f"--{option}": value for option, value in own.items()}, "needs --engine")
    return None


def refuse(given: dict[str, Any], rule: str) -> None:
    """Refuse the first option that was given."""
    for name, value in given.items():
        if value:
            raise ValueError(f"{name} {rule}")


@contextmanager
def reaching() -> Iterator[None]:
    """End the command with status 1 if a cluster or a store does not answer."""
    try:
        yield
    except BrokenPipeError:
        raise
    except ConnectionError as error:
        raise NotReached(printable(in_options(str(error)))) from error
