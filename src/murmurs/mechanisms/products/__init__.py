"""Several questions of the same people: each has its mechanism, and reports go together."""
