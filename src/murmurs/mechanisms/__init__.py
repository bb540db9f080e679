"""The mechanisms, in folders by family; tests run on all that `BY_NAME` and `OPEN` list."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from murmurs.boundary.checks import shown
from murmurs.boundary.texts import meant
from murmurs.counts import Counts
from murmurs.mechanisms.closed.among import Among
from murmurs.mechanisms.closed.hadamard import Hadamard
from murmurs.mechanisms.closed.krr import KRR
from murmurs.mechanisms.closed.local_hashing import LocalHashing
from murmurs.mechanisms.closed.projective import ProjectiveGeometry
from murmurs.mechanisms.closed.square_wave import SquareWave
from murmurs.mechanisms.closed.subset import Subset
from murmurs.mechanisms.closed.unary import OUE, SUE
from murmurs.mechanisms.custom import CustomMechanism
from murmurs.mechanisms.designs import known as survey_designs
from murmurs.mechanisms.designs.design import Design
from murmurs.mechanisms.hashed.cohorts import Over
from murmurs.mechanisms.hashed.orappor import ORappor, PermutedRappor
from murmurs.mechanisms.hashed.orr import ORR, PermutedRR
from murmurs.mechanisms.hashed.sketch import CountMeanSketch, HadamardSketch
from murmurs.mechanisms.longitudinal.basic_rappor import BasicRappor
from murmurs.mechanisms.longitudinal.boolean_rappor import BooleanRappor
from murmurs.mechanisms.longitudinal.loloha import LOLOHA
from murmurs.mechanisms.longitudinal.losue import LOSUE
from murmurs.mechanisms.longitudinal.mapped import Mapped
from murmurs.mechanisms.longitudinal.rappor import Rappor
from murmurs.mechanisms.mechanism import Mechanism, OpenMechanism
from murmurs.mechanisms.products.closed import Product
from murmurs.mechanisms.products.common import Combined
from murmurs.mechanisms.products.open import OpenProduct, product_of
from murmurs.mechanisms.sets.one_label import OneLabel
from murmurs.mechanisms.sets.privset import PrivSet
from murmurs.mechanisms.sets.sets import SetMechanism
from murmurs.mechanisms.strings.dictionary import planned_dictionary
from murmurs.mechanisms.strings.ngrams import NGrams
from murmurs.mechanisms.strings.over_ngrams import OverNGrams
from murmurs.mechanisms.strings.prefixes import Prefixes

__all__ = [
    "BY_NAME",
    "KRR",
    "LOLOHA",
    "LOSUE",
    "OPEN",
    "ORR",
    "OUE",
    "SETS",
    "SUE",
    "Among",
    "BasicRappor",
    "BooleanRappor",
    "CountMeanSketch",
    "CustomMechanism",
    "Design",
    "Hadamard",
    "HadamardSketch",
    "LocalHashing",
    "Mapped",
    "Mechanism",
    "NGrams",
    "ORappor",
    "OneLabel",
    "OpenMechanism",
    "OpenProduct",
    "Over",
    "OverNGrams",
    "PermutedRR",
    "PermutedRappor",
    "Prefixes",
    "PrivSet",
    "Product",
    "ProjectiveGeometry",
    "Rappor",
    "SetMechanism",
    "SquareWave",
    "Subset",
    "counts_from_document",
    "from_document",
    "product_of",
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
        SquareWave,
    )
}
"""Mechanisms with a fixed list of answers, by the names that survey files have."""

OPEN: dict[str, type[OpenMechanism[Any]]] = {
    kind.__name__: kind for kind in (ORR, ORappor, Rappor, Prefixes)
}
"""Mechanisms whose answers are strings, by the names that survey files have."""

SETS: dict[str, type[SetMechanism[Any]]] = {kind.__name__: kind for kind in (PrivSet, OneLabel)}
"""Mechanisms whose answers are sets of labels, by the names that survey files have."""


OneKind = Mechanism[Any] | OpenMechanism[Any] | SetMechanism[Any]
"""A mechanism of one question."""

AnyKind = OneKind | OpenProduct


def from_document(document: dict[str, Any]) -> AnyKind:
    """Return the mechanism that a JSON object describes; the inverse of its ``to_document``.

    >>> from_document({"name": "KRR", "k": 4, "epsilon": 1.0})
    KRR(k=4, epsilon=1.0)
    """
    if not isinstance(document, dict):
        raise ValueError(f"a mechanism is an object with a name, not {shown(document)}")
    parameters = dict(document)
    name = parameters.pop("name", None)
    if isinstance(name, str) and name in survey_designs.BY_NAME:
        return _from_constructor(name, survey_designs.BY_NAME[name], parameters)
    if name == "Product":
        return product_of(_parts(parameters))
    if name == "Among":
        return _among(parameters)
    if name == "Dictionary":
        return _from_constructor(name, planned_dictionary, parameters)
    if name == "NGrams":
        return _ngrams(parameters)
    kinds: dict[str, type[OneKind]] = {
        **BY_NAME,
        **OPEN,
        **SETS,
        "Design": Design,
        "BooleanRappor": BooleanRappor,
    }
    if not isinstance(name, str) or name not in kinds:
        known = [*kinds, "Among", "NGrams", "Product", "Dictionary", *survey_designs.BY_NAME]
        plain = str(name).replace("_", "").casefold()  # as forced_response and krr
        alike = [f"write {other!r}" for other in known if other.casefold() == plain]
        way = alike[0] if alike else f"there are {', '.join(known)}{meant(name, known)}"
        raise ValueError(f"there is no mechanism {shown(name)}; {way}")
    seen_over = {key: parameters.pop(key) for key in OF_CANDIDATES & set(parameters)}
    if seen_over and name not in OPEN:
        raise ValueError(
            f"{name} has no parameter {min(seen_over)!r}: it has a fixed list of answers"
        )
    try:
        made = _made(name, kinds[name], parameters)
        return _seen_over(made, seen_over) if seen_over else made
    except TypeError as error:  # in a document, a wrong type is a wrong value
        raise ValueError(str(error)) from None


def _parts(parameters: dict[str, Any]) -> list[Mechanism[Any] | OpenMechanism[Any]]:
    """Return the mechanisms that the document of a product lists."""
    if set(parameters) != {"parts"} or not isinstance(parameters["parts"], list):
        raise ValueError(f"Product has parts, a list of mechanisms, not {shown(parameters)}")
    parts = [from_document(part) for part in parameters["parts"]]
    if any(isinstance(part, Combined) for part in parts):
        raise ValueError("a part of a Product is itself a Product: list all mechanisms in one")
    return parts  # type: ignore[return-value]


def _among(parameters: dict[str, Any]) -> Among:
    """Return some answers of the unary encoding that a document describes."""
    if set(parameters) != {"mechanism", "listed"}:
        raise ValueError(f"Among has a mechanism and a list of answers, not {shown(parameters)}")
    made = from_document(parameters["mechanism"])
    try:
        return Among(made, parameters["listed"])  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError(str(error)) from None


def _ngrams(parameters: dict[str, Any]) -> NGrams | OverNGrams:
    """Return the mechanism of strings and n-grams, which is made of two others."""
    seen_over = {key: parameters.pop(key) for key in OF_CANDIDATES & set(parameters)}
    for key in {"whole", "gram"} & set(parameters):
        parameters[key] = from_document(parameters[key])
    try:
        made: Any = _made("NGrams", NGrams, parameters)
        return _seen_over(made, seen_over) if seen_over else made  # type: ignore[return-value]
    except TypeError as error:
        raise ValueError(str(error)) from None


Made = TypeVar("Made")


def _from_constructor(name: str, make: Callable[..., Made], parameters: dict[str, Any]) -> Made:
    """Return what a function makes of parameters: a design, or a mechanism that is planned."""
    known = inspect.signature(make).parameters
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ValueError(f"{name} has no parameter {shown(unknown[0])}; it has {', '.join(known)}")
    needed = {key for key, value in known.items() if value.default is value.empty}
    if needed - set(parameters):
        raise ValueError(f"{name} needs {', '.join(sorted(needed - set(parameters)))}")
    try:
        return make(**parameters)
    except TypeError as error:
        raise ValueError(str(error)) from None


OF_CANDIDATES = {"candidates", "complete", "map"}
"""The additional fields of an open mechanism with candidates."""


def _seen_over(made: Any, fields: dict[str, Any]) -> Mechanism[Any]:
    """Return an open mechanism with the candidates of a document."""
    candidates, complete = fields.get("candidates"), fields.get("complete", False)
    if not isinstance(candidates, list):
        raise ValueError(f"candidates must be a list of strings, not {shown(candidates)}")
    if not isinstance(complete, bool):
        raise ValueError(f"complete must be true or false, not {shown(complete)}")
    if "map" not in fields:
        over: Mechanism[Any] = made.over(candidates, complete=complete)
        return over
    if not isinstance(made, Rappor):
        raise ValueError(f"a map is for Rappor, not for {type(made).__name__}")
    return Mapped.from_bits(made, candidates, fields["map"], complete=complete)


def _made(name: str, kind: type[OneKind], parameters: dict[str, Any]) -> OneKind:
    """Return a mechanism of this kind; errors name unknown and missing parameters."""
    fields = [f for f in dataclasses.fields(kind) if f.init]  # type: ignore[arg-type]
    known = sorted(f.name for f in fields)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ValueError(f"{name} has no parameter {shown(unknown[0])}; it has {', '.join(known)}")
    for key, value in parameters.items():
        if value is None:
            chosen = next(f for f in fields if f.name == key).default is not dataclasses.MISSING
            way = "leave it out to have it chosen" if chosen else "give it a value"
            raise ValueError(f"{key} of {name} is null: {way}")
    needed = {f.name for f in fields if f.default is dataclasses.MISSING} - set(parameters)
    if needed:
        tuned = name in ("ORR", "ORappor") and needed & {"width", "cohorts"}
        way = ": murmurs tune finds them" if tuned else ""
        raise ValueError(f"{name} needs {', '.join(sorted(needed))}{way}")
    return kind(**parameters)


def counts_from_document(document: Any) -> Counts:
    """Return the counts that a JSON object describes; the inverse of `Counts.to_document`.

    >>> counts = KRR(k=3, epsilon=1.0).count([0, 2, 2])
    >>> counts_from_document(counts.to_document()) == counts
    True
    """
    fields = {"mechanism", "n", "cells"}
    if not isinstance(document, dict) or set(document) - {"times", "again"} != fields:
        raise ValueError(
            "counts are an object with mechanism, n, cells and, if people reported again, times, "
            f"not {shown(document)}"
        )
    mechanism, times = from_document(document["mechanism"]), document.get("times", 1)
    again = document.get("again", 1.0)
    try:
        return Counts(mechanism, document["n"], document["cells"], times, again)
    except TypeError as error:
        raise ValueError(str(error)) from None
