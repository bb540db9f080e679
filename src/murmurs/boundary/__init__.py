"""What comes in from outside is checked here; what goes out is written whole or not at all."""
