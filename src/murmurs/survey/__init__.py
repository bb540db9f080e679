"""The survey: the public document, its terms, and what follows from them."""
