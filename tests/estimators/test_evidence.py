"""What reports say about answers: every form of evidence is the exact law, up to a factor."""

from __future__ import annotations
