"""Count where the data is: on the cores of this machine, on Dask, or on Spark.

Each engine has a file with the same functions, and gives the same counts to the last unit.
"""

from murmurs.engines import dask, local, spark
from murmurs.engines.encoding import Encoded, Encoding
from murmurs.engines.likelihood import Ascending
from murmurs.engines.running import Counted, Options
from murmurs.engines.sources import SourceError, UnreachableError
from murmurs.engines.written import write, write_refused

__all__ = [
    "Ascending",
    "Counted",
    "Encoded",
    "Encoding",
    "Options",
    "SourceError",
    "UnreachableError",
    "dask",
    "local",
    "spark",
    "write",
    "write_refused",
]

NAMES = ("local", "dask", "spark")
"""The engines; each is a module of this package."""
