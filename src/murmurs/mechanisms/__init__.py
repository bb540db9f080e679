"""The mechanisms, by name; one listed here joins the battery in tests/test_every_mechanism.py."""

from __future__ import annotations

import dataclasses
from typing import Any

from murmurs.mechanism import Mechanism
from murmurs.mechanisms.hadamard import Hadamard
from murmurs.mechanisms.krr import KRR, Warner
from murmurs.mechanisms.local_hashing import LocalHashing
from murmurs.mechanisms.projective import ProjectiveGeometry
from murmurs.mechanisms.sketch import CountMeanSketch, HadamardSketch
from murmurs.mechanisms.subset import Subset
from murmurs.mechanisms.unary import OUE, SUE, BasicRappor

__all__ = [
    "BY_NAME",
    "KRR",
    "OUE",
    "SUE",
    "BasicRappor",
    "CountMeanSketch",
    "Hadamard",
    "HadamardSketch",
    "LocalHashing",
    "ProjectiveGeometry",
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
    )
}


def from_document(document: dict[str, Any]) -> Mechanism[Any]:
    """Return the mechanism that a JSON object describes; its own ``to_document`` turned round.

    >>> from_document({"name": "KRR", "k": 4, "epsilon": 1.0})
    KRR(k=4, epsilon=1.0)
    """
    parameters = dict(document)
    name = parameters.pop("name", None)
    if not isinstance(name, str) or name not in BY_NAME:
        raise ValueError(f"there is no mechanism {name!r}; there are {', '.join(BY_NAME)}")
    kind = BY_NAME[name]
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
