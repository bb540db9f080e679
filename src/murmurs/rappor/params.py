"""Files of parameters: the header k,h,m,p,q,f and one line of values."""

from __future__ import annotations

from pathlib import Path

from murmurs.boundary.checks import shown
from murmurs.boundary.reading import refuse, rows
from murmurs.mechanisms.longitudinal.boolean_rappor import BooleanRappor
from murmurs.mechanisms.longitudinal.rappor import BY_MAP, Rappor
from murmurs.rappor.csv_files import real_cell, whole_cell, write_csv

PARAMETERS = ["k", "h", "m", "p", "q", "f"]


def read_params(path: Path, scheme: str = BY_MAP) -> Rappor:
    """Return RAPPOR with the parameters of a file, which does not say how strings are hashed."""
    line, k, h, m, p, q, f = _values(path)
    try:
        return Rappor(width=k, hashes=h, cohorts=m, f=f, p=p, q=q, scheme=scheme)
    except ValueError as error:
        refuse(path, line, str(error))


def read_boolean_params(path: Path) -> BooleanRappor:
    """Return RAPPOR of a single bit with the p, q and f of a file, whatever its k, h and m."""
    line, _, _, _, p, q, f = _values(path)
    try:
        return BooleanRappor(f=f, p=p, q=q)
    except ValueError as error:
        refuse(path, line, str(error))


def _values(path: Path) -> tuple[int, int, int, int, float, float, float]:
    """Return the line of the parameters, and k, h, m, p, q and f."""
    found = list(rows(path))
    header = found[0][1] if found else []
    if sorted(header) != sorted(PARAMETERS):
        wanted, given = ",".join(PARAMETERS), shown(",".join(header))
        refuse(path, 1, f"the header must be {wanted}, in any order, not {given}")
    if len(found) != 2:
        refuse(path, len(found), f"there must be one line of parameters, not {len(found) - 1}")
    line, cells = found[1]
    if len(cells) != len(PARAMETERS):
        refuse(path, line, f"there must be {len(PARAMETERS)} values, not {len(cells)}")
    values = dict(zip(header, cells, strict=True))
    k, h, m = (whole_cell(path, line, name, values[name]) for name in "khm")
    p, q, f = (real_cell(path, line, name, values[name]) for name in "pqf")
    return line, k, h, m, p, q, f


def write_params(path: Path, rappor: Rappor) -> None:
    """Write the parameters of RAPPOR, without the hashing scheme, which the format lacks."""
    values = (rappor.width, rappor.hashes, rappor.cohorts, rappor.p, rappor.q, rappor.f)
    write_csv(path, [PARAMETERS, [repr(value) for value in values]])
