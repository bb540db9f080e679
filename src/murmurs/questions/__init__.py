"""What is asked: a question, several asked of the same people, and strings that nobody listed."""
