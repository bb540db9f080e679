"""Running experiments: their rows are kept, and what is there already is not run again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from murmurs.boundary.writing import writing
from murmurs.studies.measured import Table
from murmurs.studies.rows import Rows
from murmurs.studies.running import Cell, Progress, run
from murmurs_papers.experiment import Experiment, Scale
from murmurs_papers.findings import Finding, summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = ("png", "svg")


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What an experiment found."""

    experiment: Experiment
    scale: Scale
    seed: int
    rows: Table
    findings: tuple[Finding, ...]
    seconds: float

    def figure(self) -> Figure:
        """Return the figure, in the layout of the paper."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError(
                "plots need matplotlib: install it with pip install 'murmurs[plot]'"
            ) from None
        figure = Figure(figsize=self.experiment.size, layout="constrained")
        self.experiment.draw(self.rows, figure)
        return figure

    def save(self, folder: Path) -> list[Path]:
        """Write the figure as PNG and SVG; return the files."""
        figure = self.figure()
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{self.experiment.name}.{kind}" for kind in PICTURES]
        for path, kind in zip(paths, PICTURES, strict=True):
            about = {"Date": None} if kind == "svg" else None
            with writing(path) as file:
                figure.savefig(file, format=kind, dpi=150, metadata=about)
        return paths

    def to_document(self) -> dict[str, Any]:
        """Return the findings as a JSON object."""
        return {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "scale": self.scale,
            "seed": self.seed,
            "summary": summary(self.findings),
            "findings": [finding.to_document() for finding in self.findings],
            "about": self.experiment.about,
        }


def reproduce(
    experiment: Experiment,
    scale: Scale = "full",
    seed: int = 0,
    *,
    folder: Path | None = None,
    processes: int = 1,
    progress: Progress | None = None,
) -> Reproduction:
    """Run an experiment; rows are kept in the folder, if one is given, and found again there."""
    start = time.perf_counter()
    grid = experiment.grid
    rows = rows_of(experiment, folder) if folder is not None else None

    def measured(cells: list[Cell]) -> Table:
        return run(grid.measure, cells, seed, rows=rows, processes=processes, progress=progress)

    found = measured(experiment.cells(scale))
    more = experiment.more(scale, found)
    if more:
        found = Table([*found, *measured(more)])
    findings = tuple(experiment.judge(found))
    return Reproduction(experiment, scale, seed, found, findings, time.perf_counter() - start)


def rows_of(experiment: Experiment, folder: Path) -> Rows:
    """Return where the rows of an experiment are kept; figures of one grid share them."""
    return Rows(_folder(experiment, folder))


def _folder(experiment: Experiment, folder: Path) -> Path:
    return folder / "rows" / experiment.grid.name


def state(experiment: Experiment, folder: Path, seed: int) -> str:
    """Return how much of an experiment has been run.

    Cells that depend on what others find are not counted.
    """
    if not _folder(experiment, folder).is_dir():  # so that nothing need be installed to list
        return "not run"
    there = rows_of(experiment, folder).known()
    if not there:
        return "not run"
    done = {}
    scales: tuple[Scale, ...] = ("full", "quick")
    for scale in scales:
        names = {cell.identity(seed) for cell in experiment.cells(scale)}
        done[scale] = len(names & there), len(names)
        if names <= there and scale == "full":
            return "run"
    finished, total = done["full"]
    part = f"{finished} of {total} cells"
    if done["quick"][0] == done["quick"][1]:
        return f"run quickly, {part} in full" if finished else "run quickly"
    return part if finished else "begun" if done["quick"][0] else "not run"
