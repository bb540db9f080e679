"""The routes of the collector, one file for each kind."""
