"""Questions that take several answers: tick all that apply."""
