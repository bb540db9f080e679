"""The designs of survey research: any known matrix of report given answer."""
