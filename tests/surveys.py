"""Questions that the surveys of several tests have, as people write them in a survey file."""

from __future__ import annotations

DRINK = """
[[questions]]
name = "drink"
text = "What do you drink?"
labels = ["espresso", "filter", "tea", "nothing"]
mechanism = {name = "KRR", epsilon = 1.0}
"""
KEPT_DRINK = """
[[questions]]
name = "drink"
labels = ["espresso", "filter", "tea", "nothing"]
mechanism = {name = "LOSUE", epsilon = 1.0, epsilon_permanent = 2.0}
"""
"""With a permanent response."""
CAFE = """
[[questions]]
name = "cafe"
mechanism = {name = "ORR", epsilon = 2.0, width = 8, cohorts = 16}
"""
HOT = """
[[questions]]
name = "hot"
labels = ["yes", "no"]
epsilon = 1.0
"""
CAFE_AND_HOT = (
    CAFE
    + HOT
    + """
[[joint]]
questions = ["cafe", "hot"]
"""
)
"""A string and a label, reported together."""


def coffee(questions: str, terms: str = "") -> str:
    """A survey file with these questions and terms."""
    return f'name = "coffee"\n{terms}\n{questions}'
