"""What starts the Python workers of Spark: each is a copy that has everything imported already."""

from __future__ import annotations

from pyspark.daemon import manager

import tests.engines.gates  # noqa: F401

if __name__ == "__main__":
    manager()
