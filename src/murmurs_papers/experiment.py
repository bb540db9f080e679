"""What an experiment is: a grid that is simulated, and a table or figure that asks for its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from murmurs.studies.measured import Series, Table
from murmurs.studies.running import Cell
from murmurs_papers.findings import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = Literal["full", "quick", "tiny"]
"""How much is run: as the paper did, enough to see the same, or enough for a test."""


def _no_more(_scale: Scale, _rows: Table) -> list[Cell]:
    return []


@dataclass(frozen=True)
class Grid:
    """What is simulated, often for several tables and figures of a paper.

    ``cells`` are those of a scale, and ``measure`` simulates one of them. ``refine`` returns
    further cells that depend on what was found, such as the best parameters measured again.
    ``labels`` and values must be the same for all series of a grid. ``version`` is raised when
    ``measure`` changes what it does for the same cell: rows of older versions are not taken.
    """

    name: str
    cells: Callable[[Scale], list[Cell]]
    measure: Callable[[Cell, np.random.Generator], list[Series]]
    refine: Callable[[Scale, Table], list[Cell]] = _no_more
    version: int = 1


def _every(_cell: Cell) -> bool:
    return True


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    ``judge`` sets what the paper printed beside what was measured. ``draw`` fills a figure of
    ``size`` inches in the layout of the paper. ``wanted`` says which cells of the grid it needs.
    ``about`` says what is shown and explains where it deviates from the paper.
    """

    name: str
    title: str
    grid: Grid
    judge: Callable[[Table], Sequence[Finding]]
    draw: Callable[[Table, Figure], None]
    about: str
    wanted: Callable[[Cell], bool] = _every
    size: tuple[float, float] = (9.0, 5.0)

    @property
    def paper(self) -> str:
        """The paper: the name up to the first dash."""
        return self.name.partition("-")[0]

    def cells(self, scale: Scale) -> list[Cell]:
        """Return the cells that are needed before any refinement."""
        return self._versioned(self.grid.cells(scale))

    def more(self, scale: Scale, rows: Table) -> list[Cell]:
        """Return the cells that refine what was found."""
        return self._versioned(self.grid.refine(scale, rows))

    def _versioned(self, cells: list[Cell]) -> list[Cell]:
        """Return the cells that are wanted, with the version of the grid if it is not the first."""
        found = [cell for cell in cells if self.wanted(cell)]
        if self.grid.version == 1:
            return found
        version = f" version {self.grid.version}"
        return [replace(cell, details=cell.details + version) for cell in found]
