"""Tables for LaTeX, which need no package."""

from __future__ import annotations

from collections.abc import Sequence

from murmurs.present.text import printable

_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def escaped(text: str) -> str:
    r"""Return text as LaTeX shows it.

    >>> escaped("50_% of {a}")
    '50\\_\\% of \\{a\\}'
    """
    return "".join(_SPECIAL.get(character, character) for character in printable(text))


def plus_minus(value: float, error: float) -> str:
    r"""Return a number with its standard error.

    >>> plus_minus(0.731, 0.0217), plus_minus(1.24e-05, 4e-06)
    ('$0.731 \\pm 0.02$', '$1.24 \\times 10^{-5} \\pm 4 \\times 10^{-6}$')
    """
    return rf"${_number(value, 3)} \pm {_number(error, 1)}$"


def _number(value: float, digits: int) -> str:
    digits_of, exponent = f"{value:.{digits}g}".partition("e")[::2]
    return rf"{digits_of} \times 10^{{{int(exponent)}}}" if exponent else digits_of


def tabular(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int, about: str = ""
) -> str:
    r"""Return cells, which are LaTeX already, as a table; the first ``left`` columns are texts.

    ``about`` is a comment above it.

    >>> print(tabular(["name", "$l_1$"], [["KRR", r"$0.1 \pm 0.01$"]], left=1, about="3 answers"))
    % 3 answers
    \begin{tabular}{lr}
    \hline
    name & $l_1$ \\
    \hline
    KRR & $0.1 \pm 0.01$ \\
    \hline
    \end{tabular}
    """
    kinds = "l" * left + "r" * (len(header) - left)
    lines = [f"% {printable(about)}"] if about else []
    lines += [rf"\begin{{tabular}}{{{kinds}}}", r"\hline", _line(header), r"\hline"]
    return "\n".join([*lines, *map(_line, rows), r"\hline", r"\end{tabular}"])


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
