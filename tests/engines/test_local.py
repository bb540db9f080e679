"""The engine "local" is held to what every engine promises."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from murmurs.engines import NAMES, SourceError, local, running
from murmurs.engines.counting import count_part
from tests.engines.every_encoding import *  # noqa: F403
from tests.engines.every_encoding import Encode, Likely
from tests.engines.every_engine import *  # noqa: F403
from tests.engines.made import ONE, Engine


@pytest.fixture
def engine() -> Engine:
    """Two threads."""
    return partial(local.count, workers=2)


@pytest.fixture
def encode() -> Encode:
    """The same for encoding."""
    return partial(local.encode, workers=2)


@pytest.fixture
def likely() -> Likely:
    """The same for likelihoods."""
    return partial(local.likelihood, workers=2)


def test_every_engine_is_held_to_it() -> None:
    for name in NAMES:
        text = (Path(__file__).parent / f"test_{name}.py").read_text()
        assert "from tests.engines.every_engine import *" in text
        assert "from tests.engines.every_encoding import *" in text


def test_a_refusal_is_tried_once_and_a_failure_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def refusing(*given: Any) -> Any:
        tries.append(1)
        return count_part(*given)

    def failing(*_: Any) -> Any:
        tries.append(1)
        raise OSError("the network is down")

    monkeypatch.setattr(running, "count_part", refusing)
    with pytest.raises(SourceError, match="row 2: the column 'drink' has no report to 'drink'"):
        local.count(pa.table({"drink": [0, 9]}), ONE)
    assert len(tries) == 1
    monkeypatch.setattr(running, "count_part", failing)
    with pytest.raises(SourceError, match="table 1 could not be counted: the network is down"):
        local.count(pa.table({"drink": [0]}), ONE)
    assert len(tries) == 4
