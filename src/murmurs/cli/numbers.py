"""Options that ask for means, quantiles and shares of ranges, in whichever command has them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from murmurs.cli.options import Run, flag, together
from murmurs.inference.wanted import Wanted

_SEVERAL = "Give it several times for several."


def _parts(
    _context: click.Context, _parameter: click.Parameter, given: tuple[float, ...]
) -> tuple[float, ...]:
    """Refuse what is no part of people; per cent are the usual mistake."""
    for part in given:
        if not 0 < part < 1:
            meant = f": for {part:g} %, give {part / 100:g}" if 1 < part < 100 else ""
            raise click.BadParameter(f"{part:g} is not between 0 and 1{meant}")
    return given


def wanted_options(*, sums: bool = False) -> Callable[[Run], Run]:
    """Return the options; the command gets what is ``wanted``."""
    options = [
        flag("--mean", "For numbers and scales: the mean, with its interval."),
        *([flag("--sum", "The sum over all who answered.")] if sums else []),
        flag("--median", "The median."),
        click.option(
            "--quantile",
            type=float,
            multiple=True,
            callback=_parts,
            metavar="PART",
            help=f"The number that this part of people do not exceed, as 0.9. {_SEVERAL}",
        ),
        click.option(
            "--between",
            nargs=2,
            multiple=True,
            metavar="LOW HIGH",
            help=f"The share from LOW up to, not including, HIGH. {_SEVERAL}",
        ),
        click.option(
            "--above",
            multiple=True,
            metavar="LOW",
            help=f"The share from LOW on. {_SEVERAL}",
        ),
        click.option(
            "--top",
            type=click.IntRange(1),
            multiple=True,
            metavar="N",
            help="The share in the N highest buckets or labels, as the top two boxes.",
        ),
    ]

    def added(run: Run) -> Run:
        @functools.wraps(run)
        def asked(
            *args: Any,
            mean: bool,
            median: bool,
            quantile: tuple[float, ...],
            between: tuple[tuple[str, str], ...],
            above: tuple[str, ...],
            top: tuple[int, ...],
            **given: Any,
        ) -> Any:
            flags = {"mean": mean, "sum": given.pop("sum", False), "median": median}
            found: list[tuple[Any, ...]] = [(name,) for name, on in flags.items() if on]
            found += [("quantile", part) for part in quantile]
            found += [("between", *ends) for ends in between]
            found += [("above", low) for low in above]
            found += [("top", many) for many in top]
            return run(*args, wanted=Wanted(tuple(found)), **given)

        return together(*options)(asked)  # type: ignore[return-value]

    return added
