"""Draw the pictures that the README and the pages show: ``python docs/make_pictures.py``.

``shares.png`` is of simulated people. ``joint.png`` and ``dictionary.png`` show what the examples
above them, on their pages, have found: these are run first. Pictures in ``results/`` are drawn by
the benchmarks that measure them.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import murmurs as mm

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parent
COMMUTE = {"bus": 5820, "car": 5460, "tram": 4640, "bicycle or on foot": 4060, "ferry": 20}
"""Simulated people by their answer."""

DPI = 100


def shares() -> Axes:
    """Return the estimate of a question, with the truth that only a simulation knows."""
    asked = mm.Question(
        "commute", list(COMMUTE), epsilon=1.0, text="How do you mostly come to work?"
    )
    people = np.array(list(COMMUTE.values()))
    found = asked.estimate(asked.simulate(people, np.random.default_rng(5)))
    told = f"{asked.text}\n{found.n:,} reports with ε = 1; the truth is that of the simulation"
    return found.plot(truth=people / people.sum(), title=told)


def joint() -> Axes:
    """Return the table of two questions on the page of joint tables."""
    found = above("joint.md", "joint.png")["found"]
    axes: Axes = found.margin("department", "gender").plot()
    return axes


def dictionary() -> Axes:
    """Return the strings that the page of dictionaries finds."""
    axes: Axes = above("dictionary.md", "dictionary.png")["found"].plot()
    return axes


def above(page: str, picture: str) -> dict[str, Any]:
    """Return the names that the examples of a page have set where it shows a picture."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"]({picture})")[0]
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(text):
            if example.exc_msg is None:
                exec(compile(example.source, page, "single"), names)
    return names


PICTURES: dict[str, Callable[[], Axes]] = {
    "shares": shares,
    "joint": joint,
    "dictionary": dictionary,
}


def main() -> None:
    """Draw all pictures, or those that are named."""
    import matplotlib as mpl

    mpl.use("Agg")
    for name in sys.argv[1:] or PICTURES:
        drawn = PICTURES[name]().get_figure(root=True)
        assert drawn is not None
        drawn.savefig(DOCS / f"{name}.png", dpi=DPI, metadata={"Software": None})


if __name__ == "__main__":
    main()
