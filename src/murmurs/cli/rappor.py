"""``murmurs rappor``: from the files of google/rappor to strings with intervals."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from murmurs import estimators
from murmurs.boundary.texts import numbered
from murmurs.boundary.writing import STANDARD, is_standard_output
from murmurs.cli.options import (
    Command,
    as_json,
    control_option,
    counts_output,
    existing_file,
    level_option,
    output,
    piped_file,
    printed,
)
from murmurs.cli.output import Form, print_csv
from murmurs.cli.pictures import save_plot
from murmurs.cli.rappor_assoc import as_client_rounds, assoc, client_option
from murmurs.cli.suggestions import Choice, Group
from murmurs.counts import Counts
from murmurs.estimators.estimation import Estimate
from murmurs.hashing import schemes
from murmurs.inference.detection import Control
from murmurs.mechanisms.longitudinal.rappor import SCHEMES
from murmurs.present.plots import plot_shares
from murmurs.present.text import percent, shares_table, shown_digits, table
from murmurs.rappor.counts import read_counts, write_counts
from murmurs.rappor.csv_files import csv_text
from murmurs.rappor.maps import map_rows, read_candidates, read_map, write_map
from murmurs.rappor.params import read_params
from murmurs.rappor.reports import read_reports
from murmurs.rappor.result_rows import ResultRow, results, write_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_params = click.option(
    "--params",
    type=existing_file,
    required=True,
    help="CSV with the columns k (bits), h (hashes), m (cohorts), p, q and f.",
)


@click.group("rappor", cls=Group)
def command() -> None:
    """Read and write the files of google/rappor, and decode them.

    The parameters are k bits, h hashes and m cohorts; f, the probability that a permanent bit is
    random; and p and q, the probabilities that a bit of a report is set if the permanent bit is 0
    and if it is 1.

    See docs/google-rappor.md for all files.

    \b
    Example:
      murmurs rappor schemes
    """


@command.command("map", cls=Command)
@_params
@click.option(
    "--candidates",
    type=existing_file,
    required=True,
    help="A file of strings that may occur, one per line.",
)
@click.option(
    "--scheme",
    type=Choice(SCHEMES[:-1]),
    default="google",
    show_default=True,
    help="How the clients hash strings.",
)
@output("The map to write; printed if left out.", required=False)
def make_map(params: Path, candidates: Path, scheme: str, output: Path | None) -> None:
    """Hash candidate strings into a map.

    The map lists the bits that each string sets in each cohort; docs/google-rappor.md describes it.

    \b
    Example:
      murmurs rappor map --params params.csv --candidates strings.txt -o map.csv
    """
    rappor = read_params(params, scheme)
    listed = read_candidates(candidates, rappor)
    if output is None and sys.stdout.isatty():
        for row in map_rows(rappor, listed):
            print_csv(csv_text([row]))
        return
    write_map(output or STANDARD, rappor, listed)
    if output is not None:
        what = f"{numbered(len(listed), 'string')} in {numbered(rappor.cohorts, 'cohort')} mapped"
        Form(err=is_standard_output(output)).written(f"{what}; written to", output, {})


@command.command("sum", cls=Command)
@_params
@click.argument("reports", type=piped_file, nargs=-1, required=True)
@counts_output
@as_json
def sum_reports(params: Path, reports: tuple[Path, ...], output: Path, form: Form) -> None:
    """Count one or more files of REPORTS.

    The result is the number of reports in each cohort, and how often each bit is set. Only the
    columns cohort and irr (the bits that a client sends) are read; bloom and prr are private and
    may be left out. docs/google-rappor.md describes the files.

    \b
    Example:
      murmurs rappor sum --params params.csv reports.csv -o counts.csv
    """
    rappor = read_params(params)
    counts = rappor.count(part for path in reports for part in read_reports(path, rappor))
    write_counts(output, counts)
    what = f"{numbered(counts.n, 'report')} in {numbered(rappor.cohorts, 'cohort')} counted"
    document = {"n": counts.n, "cohorts": counts.cells[:, 0].tolist()}
    form.written(f"{what}; written to", output, document)


@command.command("decode", cls=Command)
@_params
@click.option(
    "--counts", type=existing_file, required=True, help="The file of counts that `sum` writes."
)
@click.option(
    "--map", "mapped", type=existing_file, required=True, help="The map that `map` writes."
)
@output("The CSV file of detected strings to write.", required=False)
@level_option
@control_option
@client_option
@printed("json", plot=True)
def decode(
    params: Path,
    counts: Path,
    mapped: Path,
    output: Path | None,
    level: float,
    control: Control,
    client: str | None,
    plot: Path | None,
    form: Form,
) -> None:
    """Estimate which strings of a map occur, and how often.

    The share of all other strings is estimated too. Clients round f to a multiple of 1/128, each in
    its own way: --client uses the f that this client really has. See docs/google-rappor.md.

    \b
    Example:
      murmurs rappor decode --params params.csv --counts counts.csv --map map.csv
    """
    rappor = as_client_rounds(read_params(params), client)
    over = read_map(mapped, rappor)
    counted = read_counts(counts, rappor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", estimators.NoiseDominates)  # the notes show it
        closed = Counts(over, counted.n, counted.cells)
        estimate = estimators.estimate(closed).with_labels(over.labels)
    found = results(estimate, level, control)
    if output is not None:
        write_results(output, found, level)
    save_plot(lambda axes: _plot(estimate, found, level, axes), plot)

    def text() -> str:
        other = _other(estimate, level)
        digits = shown_digits(estimate.standard_errors())
        return "\n".join(
            [
                f"{numbered(counted.n, 'report')} in {numbered(rappor.cohorts, 'cohort')}, "
                f"f = {rappor.f:g}\n",
                *([_table(estimate, found, level)] if found else []),
                f"\n{len(found)} of {numbered(len(over.candidates), 'string')} detected "
                f"({control}, {1 - level:.3g}).",
                f"(other), strings that are not in the map: {percent(other['share'], digits)}, "
                f"{percent(other['low'], digits)} … {percent(other['high'], digits)}.",
                estimate.explanation,
            ]
        )

    form.show(json=lambda: _document(estimate, found, level, control, rappor.f), text=text)


command.add_command(assoc)


@command.command("schemes", cls=Command)
@as_json
def show_schemes(form: Form) -> None:
    """List the hashing schemes of deployed clients.

    \b
    Example:
      murmurs rappor schemes
    """
    found = schemes.BY_NAME.values()
    rows = [
        [s.name, s.clients, str(s.widest), str(s.most_hashes), str(s.most_cohorts)] for s in found
    ]
    header = ["scheme", "clients", "bits up to", "hashes up to", "cohorts up to"]
    form.show(
        json=lambda: [dataclasses.asdict(scheme) for scheme in found],
        text=lambda: table(header, rows, left=2),
    )


def _table(estimate: Estimate, found: list[ResultRow], level: float) -> str:
    strings = [line.string for line in found]
    return shares_table(_columns(estimate, strings, level), f"{100 * level:g} % interval")


def _plot(estimate: Estimate, found: list[ResultRow], level: float, axes: Axes) -> Axes:
    """Draw the detected strings, and what is left for strings that are not in the map."""
    assert estimate.other is not None
    strings = [*(line.string for line in found), estimate.labels[estimate.other]]
    detected = f"{len(found)} of {numbered(len(estimate.labels) - 1, 'string')} detected"
    return plot_shares(
        _columns(estimate, strings, level),
        f"{100 * level:g} % intervals",
        f"{numbered(estimate.n, 'report')}, {detected}",
        axes,
    )


def _columns(estimate: Estimate, strings: list[str], level: float) -> dict[str, Any]:
    """Return the columns of some strings."""
    position = {label: j for j, label in enumerate(estimate.labels)}
    rows = [position[string] for string in strings]
    columns: dict[str, Any] = estimate.columns(level)
    shown = {name: column[rows] for name, column in columns.items() if name != "answer"}
    return {"answer": strings, **shown}


def _other(estimate: Estimate, level: float) -> dict[str, float]:
    """Return the share of strings that are not in the map, with its interval."""
    at = estimate.other
    assert at is not None, "a map leaves room for other strings"
    low, high = estimate.interval(level)[:, at].tolist()
    return {"share": float(estimate.shares[at]), "low": low, "high": high}


def _document(
    estimate: Estimate, found: list[ResultRow], level: float, control: Control, f: float
) -> dict[str, Any]:
    return {
        "n": estimate.n,
        "f": f,
        "method": estimate.estimator,
        "why": estimate.why,
        "notes": list(estimate.notes),
        "level": level,
        "control": control,
        "candidates": len(estimate.labels) - 1,
        "detected": [line._asdict() for line in found],
        "other": _other(estimate, level),
    }
