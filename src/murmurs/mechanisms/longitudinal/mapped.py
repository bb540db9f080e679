"""RAPPOR over candidates whose bits are listed in a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from murmurs.boundary.checks import integers
from murmurs.hashing.layout import Layout, ListedPlaces, listed
from murmurs.mechanisms.hashed.cohorts import Over
from murmurs.mechanisms.longitudinal.rappor import Rappor
from murmurs.numerics.arrays import first_outside
from murmurs.wire import CohortBits


@dataclass(frozen=True)
class Mapped(Over[CohortBits]):
    """RAPPOR over candidates whose bits are given as a map, whatever the hash."""

    map: ListedPlaces = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        table, given = self.mechanism, self.map
        wanted = (len(self.candidates), table.cohorts, table.width, table.hashes)
        if (given.k, given.rows, given.width, given.hashes) != wanted:
            raise ValueError(
                f"a map of {given.k} strings, {given.rows} cohorts, {given.width} bits and "
                f"{given.hashes} hashes does not fit {len(self.candidates)} candidates of {table}"
            )

    @cached_property
    def layout(self) -> Layout:
        """The bits of the candidates."""
        return self.map

    @classmethod
    def from_bits(
        cls, rappor: Rappor, candidates: Sequence[str], bits: object, *, complete: bool = False
    ) -> Mapped:
        """Return RAPPOR over candidates, each with a list of its bits, cohort by cohort.

        There is one bit for each hash of a cohort: a number below ``width``, or ``width`` itself,
        which means none, if another hash already has that bit.
        """
        table = integers(bits, "map", ndim=None).astype(np.int64)
        wanted = (len(candidates), rappor.cohorts * rappor.hashes)
        if table.shape != wanted:
            raise ValueError(
                f"map must be {wanted[0]} lists of {wanted[1]} bits, not {table.shape}"
            )
        bad = first_outside(table.ravel(), 0, rappor.width)
        if bad:
            where, at = divmod(bad[0], wanted[1])
            raise ValueError(
                f"map has the bit {bad[1]} at place {at} of candidate {where}: bits are from 0 to "
                f"{rappor.width}"
            )
        places = listed(table.T, rappor.cohorts, rappor.width, rappor.hashes)
        return cls(rappor, tuple(candidates), complete, map=places)

    def to_document(self) -> dict[str, Any]:
        """Return the open mechanism with the candidates and the bits of each."""
        return {**super().to_document(), "map": self.map.bits().T.tolist()}

    def __repr__(self) -> str:
        return super().__repr__()
