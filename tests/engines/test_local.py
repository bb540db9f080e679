"""The engine "local" is held to what every engine promises."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from murmurs.engines import NAMES, local
from tests.engines.every_encoding import *  # noqa: F403
from tests.engines.every_encoding import Encode, Likely
from tests.engines.every_engine import *  # noqa: F403
from tests.engines.made import Engine


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
