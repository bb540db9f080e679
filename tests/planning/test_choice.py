"""The mechanism that a question gets when none is named."""

from __future__ import annotations

from murmurs.planning.choice import choose


def test_the_choice_at_epsilon_one_is_what_the_readme_says() -> None:
    """Between 6 and 24 answers Subset, but for 13, which fill a projective plane exactly."""
    chosen = {k: type(choose(k, 1.0).mechanism).__name__ for k in (*range(2, 200), 1000, 20_000)}
    assert {name for k, name in chosen.items() if k <= 5} == {"KRR"}
    assert {name for k, name in chosen.items() if k >= 25} == {"ProjectiveGeometry"}
    assert [k for k in range(6, 25) if chosen[k] != "Subset"] == [13]
