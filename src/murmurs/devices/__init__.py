"""One person's side of a question that is asked repeatedly, and that of many people at once."""
