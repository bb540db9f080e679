"""Covariances of inverted shares: the quick ways are equal to the general one."""

from __future__ import annotations

import numpy as np
import pytest

import murmurs as mm
from murmurs.channels.channel import Channel

LAWS = {
    "points": mm.ProjectiveGeometry(k=12, epsilon=1.0, q=3, t=3),
    "one digit to spare": mm.ProjectiveGeometry(k=5, epsilon=2.0, q=2, t=4),
    "categories": mm.KRR(k=5, epsilon=1.0),
}
every = pytest.mark.parametrize("name", LAWS)


@every
def test_the_matrix_and_the_lever_are_those_of_unit_vectors(name: str) -> None:
    channel = LAWS[name].channel
    np.testing.assert_allclose(channel.matrix(), Channel.matrix(channel), atol=1e-14)
    np.testing.assert_allclose(channel.lever(100), Channel.lever(channel, 100), atol=1e-14)


@every
def test_sampled_cells_of_a_histogram_are_multinomial(name: str) -> None:
    """Privacy noise plus the sampling of people, added up here, is one multinomial law."""
    channel, n = LAWS[name].channel, 500
    shares = np.random.default_rng(1).dirichlet(np.ones(channel.k))
    rows = channel.matrix()
    people = np.diag(shares) - np.outer(shares, shares)
    both = channel.covariance(n * shares) + n * rows.T @ people @ rows
    np.testing.assert_allclose(channel.covariance_sampled(shares, n), both, atol=1e-10)
