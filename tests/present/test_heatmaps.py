"""Pictures of joint tables."""

from __future__ import annotations

import numpy as np

import murmurs as mm


def test_the_key_of_a_small_table_is_within_the_picture() -> None:
    """With its title on one line, the last word was cut off."""
    drink = mm.Question("drink", ["espresso", "filter", "tea", "nothing"], epsilon=1.0)
    sugar = mm.Question("sugar", ["yes", "no"], epsilon=1.0)
    both = mm.Joint(drink, sugar, once=True)
    people = dict.fromkeys([(a, b) for a in drink.labels for b in sugar.labels], 2000)
    table = both.estimate(both.simulate(people, np.random.default_rng(2)))
    axes = table.plot()
    figure = axes.figure
    figure.canvas.draw()
    key = axes.get_legend()
    assert key is not None
    assert key.get_window_extent().x1 <= figure.bbox.x1
