"""The mechanisms, by name; one listed here joins the battery in tests/test_every_mechanism.py."""

from __future__ import annotations

import dataclasses
from typing import Any

from murmurs.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.cohorts import Over
from murmurs.mechanisms.hadamard import Hadamard
from murmurs.mechanisms.krr import KRR, Warner
from murmurs.mechanisms.local_hashing import LocalHashing
from murmurs.mechanisms.loloha import LOLOHA
from murmurs.mechanisms.longitudinal_unary import LOSUE
from murmurs.mechanisms.orappor import ORappor, PermutedRappor
from murmurs.mechanisms.orr import ORR, PermutedRR
from murmurs.mechanisms.projective import ProjectiveGeometry
from murmurs.mechanisms.rappor import Mapped, Rappor
from murmurs.mechanisms.sketch import CountMeanSketch, HadamardSketch
from murmurs.mechanisms.subset import Subset
from murmurs.mechanisms.unary import OUE, SUE, BasicRappor

__all__ = [
    "BY_NAME",
    "KRR",
    "LOLOHA",
    "LOSUE",
    "ORR",
    "OUE",
    "SUE",
    "BasicRappor",
    "CountMeanSketch",
    "Hadamard",
    "HadamardSketch",
    "LocalHashing",
    "Mapped",
    "ORappor",
    "Over",
    "PermutedRR",
    "PermutedRappor",
    "ProjectiveGeometry",
    "Rappor",
    "Subset",
    "Warner",
    "from_document",
]

BY_NAME: dict[str, type[Mechanism[Any]]] = {
    kind.__name__: kind
    for kind in (
        KRR,
        SUE,
        OUE,
        BasicRappor,
        Subset,
        Hadamard,
        ProjectiveGeometry,
        LocalHashing,
        CountMeanSketch,
        HadamardSketch,
        LOSUE,
        LOLOHA,
        PermutedRR,
        PermutedRappor,
    )
}

OPEN: dict[str, type[OpenMechanism[Any]]] = {kind.__name__: kind for kind in (ORR, ORappor, Rappor)}
"""Mechanisms whose answers are strings."""


def from_document(document: dict[str, Any]) -> Mechanism[Any] | OpenMechanism[Any]:
    """Return the mechanism that a JSON object describes; its own ``to_document`` turned round.

    >>> from_document({"name": "KRR", "k": 4, "epsilon": 1.0})
    KRR(k=4, epsilon=1.0)
    """
    parameters = dict(document)
    name = parameters.pop("name", None)
    kinds: dict[str, type[Mechanism[Any] | OpenMechanism[Any]]] = {**BY_NAME, **OPEN}
    if not isinstance(name, str) or name not in kinds:
        raise ValueError(f"there is no mechanism {name!r}; there are {', '.join(kinds)}")
    kind = kinds[name]
    if name not in OPEN or "candidates" not in parameters:
        return _made(name, kind, parameters)
    candidates, complete = parameters.pop("candidates"), parameters.pop("complete", False)
    made = _made(name, kind, parameters)
    assert isinstance(made, OpenMechanism)
    return made.over(candidates, complete=complete)


def _made(
    name: str, kind: type[Mechanism[Any] | OpenMechanism[Any]], parameters: dict[str, Any]
) -> Mechanism[Any] | OpenMechanism[Any]:
    """Return a mechanism of this kind; parameters too many or too few are told by name."""
    known = {f.name for f in dataclasses.fields(kind) if f.init}  # type: ignore[arg-type]
    unknown = sorted(set(parameters) - known)
    if unknown:
        raise ValueError(
            f"{name} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    try:
        return kind(**parameters)
    except TypeError as error:
        if "required positional" not in str(error):
            raise
        missing = sorted(
            f.name
            for f in dataclasses.fields(kind)  # type: ignore[arg-type]
            if f.init and f.default is dataclasses.MISSING and f.name not in parameters
        )
        raise ValueError(f"{name} needs {', '.join(missing)}") from None
