"""The estimators that can be asked for by name; a file has one, or a few that are alike."""
