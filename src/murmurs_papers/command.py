"""``murmurs reproduce``: run the tables and figures of the papers again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click

import murmurs_papers as papers
from murmurs import __version__
from murmurs.boundary.writing import writing
from murmurs.cli.options import Command, FilePath, as_json, existing_file, flag
from murmurs.cli.output import Form, say
from murmurs.cli.progress import progress_bar
from murmurs.present.text import table
from murmurs_papers import lezia2020_tables
from murmurs_papers.census import read_census
from murmurs_papers.experiment import Experiment, Scale
from murmurs_papers.report import report
from murmurs_papers.reproducing import Reproduction, reproduce, state


@click.command("reproduce", cls=Command)
@click.argument("names", nargs=-1)
@flag("--quick", "Run fewer repetitions on smaller grids.")
@click.option(
    "-o",
    "--output",
    type=FilePath(file_okay=False),
    default="reproduced",
    show_default=True,
    help="The folder of the rows and figures.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Seed of the simulations: with the same one, the numbers are the same.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    help="Number of processes; all processors by default.",
)
@click.option(
    "--census",
    type=existing_file,
    help="The public file USCensus1990raw.data.txt, for lezia2020's tables.",
)
@as_json
def command(
    names: tuple[str, ...],
    quick: bool,
    output: Path,
    seed: int,
    processes: int,
    census: Path | None,
    form: Form,
) -> None:
    """Run tables and figures of the papers again, and compare.

    NAMES are those of experiments, of papers, or all; without one, everything is listed with its
    state. Rows of the simulations are kept in the folder: interrupted runs resume, and what is
    there is only drawn and judged again. Two numbers agree if they differ by at most three
    combined standard errors.

    \b
    Example:
      murmurs reproduce kairouz2016-proposition5 --quick
    """
    scale: Scale = "quick" if quick else "full"
    wanted = papers.chosen(names or [papers.ALL])
    if census is not None:
        longer = {e.name: e for e in lezia2020_tables.tables(read_census(census))}
        wanted = [longer.get(e.name, e) for e in wanted]
    if not names:
        _list(wanted, output, seed, form)
        return
    _check_installed()
    documents = []
    for experiment in wanted:
        with _interruptible(experiment.name, output), progress_bar(experiment.name) as progress:
            found = reproduce(
                experiment, scale, seed, folder=output, processes=processes, progress=progress
            )
        pictures = found.save(output)
        _keep_findings(found, output)
        files = [str(path) for path in pictures]
        documents.append({**found.to_document(), "version": __version__, "files": files})
        if form.kind == "text":
            above = "\n\n" if len(documents) > 1 else ""
            say(f"{above}{report(found)}\n\nFigure: {pictures[0]} and .svg")
    form.show(json=lambda: documents, text=lambda: None)


@contextlib.contextmanager
def _interruptible(name: str, out: Path) -> Iterator[None]:
    """Say after an interruption that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        say(
            f"\nInterrupted in {name}: what was simulated is kept in {out}. Run the same command "
            "again to go on.",
            err=True,
        )
        raise click.exceptions.Exit(130) from None


def _check_installed() -> None:
    """Refuse to begin what could not be kept or drawn at the end."""
    if find_spec("pyarrow") is None or find_spec("matplotlib") is None:
        raise ImportError(
            "experiments keep their rows with pyarrow and draw with matplotlib: install both with "
            "pip install 'murmurs[frames,plot]'"
        )


def _keep_findings(found: Reproduction, out: Path) -> None:
    """Write what was printed next to the figure."""
    with writing(out / f"{found.experiment.name}.txt") as file:
        file.write(report(found, limit=10**6).encode() + b"\n")


def _list(experiments: list[Experiment], out: Path, seed: int, form: Form) -> None:
    rows = [[e.name, e.title, _state(e, out, seed)] for e in experiments]
    keys, heads = ("name", "title", "state"), ["experiment", "title", f"state in {out}"]
    advice = f"To run one: murmurs reproduce {rows[0][0]}; --quick runs fewer repetitions."
    form.show(
        json=lambda: [dict(zip(keys, row, strict=True)) for row in rows],
        text=lambda: f"{table(heads, rows, left=3)}\n\n{advice}",
    )


def _state(experiment: Experiment, out: Path, seed: int) -> str:
    """Return how much was run; another experiment may have run the rows of this one."""
    found = state(experiment, out, seed)
    drawn = (out / f"{experiment.name}.png").exists()
    return f"{found}, not drawn" if found.startswith("run") and not drawn else found
