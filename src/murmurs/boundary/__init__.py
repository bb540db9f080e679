"""Input from outside is checked here, and files are written completely or not at all."""
