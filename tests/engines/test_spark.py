"""The engine "spark", in this process' Java and with two executors that are processes of their own.

Executors take long to start: only what can happen to a cluster is tested on them.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from murmurs import Keyed, Survey
from murmurs.engines import SourceError, spark
from tests.engines import every_cluster
from tests.engines.clusters import ROOT, spark_session
from tests.engines.every_cluster import *  # noqa: F403
from tests.engines.every_encoding import *  # noqa: F403
from tests.engines.every_encoding import CITY, SECRET, Encode, Likely, people
from tests.engines.every_engine import *  # noqa: F403
from tests.engines.made import COFFEE, DRINK, HOT, ONE, Engine, drinks, of, plain, reports_to

THREADS = "local[2]"
EXECUTORS = "local-cluster[2,1,512]"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "session" in metafunc.fixturenames:
        alone = metafunc.function.__module__ == every_cluster.__name__
        where = [EXECUTORS if alone else THREADS]
        metafunc.parametrize("session", where, indirect=True, scope="module")


@pytest.fixture(scope="module")
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A session of Spark where a test needs it: the tests of each place come together."""
    with spark_session(request.param, tmp_path_factory.getbasetemp() / "spark") as found:
        yield found


@pytest.fixture
def engine(session: Any) -> Engine:
    """All of it."""
    return partial(spark.count, session=session)


@pytest.fixture
def encode(session: Any) -> Encode:
    """The same for encoding."""
    return partial(spark.encode, session=session)


@pytest.fixture
def likely(session: Any) -> Likely:
    """The same for likelihoods."""
    return partial(spark.likelihood, session=session)


PEOPLE = 40
DATES = [datetime.date(2027, 3, 30 + i % 2) for i in range(PEOPLE)]


def frame(session: Any) -> Any:
    """A data frame in three partitions."""
    both = reports_to(HOT, PEOPLE)
    table = pa.table(
        {
            "drink`s.name": pa.array(drinks(PEOPLE), pa.int16()),
            "hot": pa.array([None if i % 10 == 0 else bytes([r]) for i, r in enumerate(both)]),
            "region": ["north", None, "south", "south"] * (PEOPLE // 4),
            "day": DATES,
            "person": [f"person {i}" for i in range(PEOPLE)],
        }
    )
    return session.createDataFrame(table).repartition(3)


COLUMNS = {"drink": "drink`s.name"}


def test_a_data_frame(session: Any) -> None:
    given = frame(session)
    counted = spark.count(given, ONE, columns=COLUMNS)
    assert plain(counted) == {(): {"drink": of(DRINK, drinks(PEOPLE))}}
    by = spark.count(given, ONE, columns=COLUMNS, by=["region", "day"], bad="skip")
    assert by.refused == {"the segment 'region' or 'day' is missing": PEOPLE // 4}
    assert plain(by) == {
        ("north", "2027-03-30"): {"drink": of(DRINK, drinks(PEOPLE)[::4])},
        ("south", "2027-03-30"): {"drink": of(DRINK, drinks(PEOPLE)[2::4])},
        ("south", "2027-03-31"): {"drink": of(DRINK, drinks(PEOPLE)[3::4])},
    }
    both = spark.count(given, COFFEE, columns={**COLUMNS, "hot": None}, by="day")
    kept = [i for i in range(0, PEOPLE, 2) if i % 10]
    assert both.missing == {"hot": PEOPLE // 10}
    assert plain(both)["2027-03-30",] == {
        "drink": of(DRINK, drinks(PEOPLE)[::2]),
        "hot": of(HOT, reports_to(HOT, PEOPLE)[kept]),
    }
    assert plain(spark.count(given.limit(0), ONE, columns=COLUMNS)) == {
        (): {"drink": of(DRINK, [])}
    }


def test_each_id_of_a_data_frame_counts_once(session: Any) -> None:
    given = frame(session)
    for survey, columns in ((ONE, COLUMNS), (COFFEE, {**COLUMNS, "hot": None})):
        counted = spark.count(given.union(given), survey, columns=columns, id="person")
        assert plain(counted)[()]["drink"] == of(DRINK, drinks(PEOPLE))
        assert (counted.rows, counted.repeated) == (2 * PEOPLE, PEOPLE)


def test_a_data_frame_with_bad_rows(session: Any) -> None:
    given = session.createDataFrame(pa.table({"drink": [0, 1, 7, -1, 4]}))
    counted = spark.count(given, ONE, bad="skip")
    assert counted.refused == {"the column 'drink' has no report to 'drink'": 3}
    assert counted["drink"].n == 2
    with pytest.raises(SourceError, match=r"rows? of the data frame: the column 'drink' has no"):
        spark.count(given, ONE)
    with pytest.raises(ValueError, match="memory is for files: leave it out for a data frame"):
        spark.count(given, ONE, memory="memory")


def test_a_session_that_was_there_stays(session: Any) -> None:
    table = pa.table({"drink": drinks(PEOPLE)})
    assert spark.count(table, ONE)["drink"].n == PEOPLE
    assert spark.count(table, ONE, master=session.sparkContext.master)["drink"].n == PEOPLE
    with pytest.raises(ValueError, match=r"this process uses Spark at local\[2\] already: stop"):
        spark.count(table, ONE, master="local[3]")
    with pytest.raises(ValueError, match="session is a cluster already: leave master out"):
        spark.count(table, ONE, master="local[3]", session=session)
    assert session.range(3).count() == 3


JOB = """
import pyarrow
from murmurs.engines import spark
from tests.engines.made import ONE
try:
    spark.count(pyarrow.table({"drink": [1]}), ONE, master=%r)
except Exception as error:
    print(f"{type(error).__name__}: {error}")
"""


def said(master: str | None, **environment: str) -> str:
    """What a job says in a process of its own, where Spark was not started yet."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", JOB % master],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_no_master_is_one_sentence() -> None:
    assert said("spark://127.0.0.1:9") == (
        "ConnectionError: no Spark master answers at spark://127.0.0.1:9: start one with "
        "`sbin/start-master.sh`, or correct the address, such as spark://10.0.0.1:7077\n"
    )


def test_no_java_is_one_sentence(tmp_path: Any) -> None:
    found = said(None, JAVA_HOME=str(tmp_path))
    assert found.startswith(
        "ConnectionError: Spark does not start at local[*]: check the address, and that Java 17 or "
        "newer is there ("
    )
    assert found.count("\n") == 1


def test_progress(session: Any) -> None:
    steps: list[tuple[int, int]] = []
    tables = [pa.table({"drink": drinks(10, seed)}) for seed in range(4)]
    spark.count(tables, ONE, session=session, progress=lambda *step: steps.append(step))
    assert steps[-1] == (4, 4)
    assert steps == sorted(steps)
    assert session.sparkContext.getLocalProperty("spark.jobGroup.id") is None


def test_spark_connect_is_refused_with_the_way_out() -> None:
    table = pa.table({"drink": [1]})
    of_connect: Any = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})
    for given in ({"master": "sc://10.0.0.1:15002"}, {"session": of_connect()}):
        with pytest.raises(ValueError, match=r"^Spark Connect is not supported: use spark-"):
            spark.count(table, ONE, **given)


def test_without_spark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(
        ImportError, match=r"Spark on this machine: pip install 'murmurs\[spark\]'$"
    ):
        spark.count(pa.table({"drink": [1]}), ONE)


def naive(frame: Any, survey: Survey) -> Any:
    """Reports with fresh noise in each computation, as encoding by a plain function would have."""

    def encoded(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            reports = survey["city"].encode_column(batch.column("city"))
            yield pa.record_batch({"city": reports, "person": batch.column("person")})

    return frame.mapInArrow(encoded, "city long, person long")


def test_a_data_frame_that_is_computed_again_gives_the_same_reports(session: Any) -> None:
    """With fresh noise, whoever sees two computations sees epsilon twice.

    Of 600 people with fresh reports, all have the same twice with probability below 1e-90.
    """
    survey = Survey("cities", (CITY,))
    table = people().select(["city", "person"])
    given = session.createDataFrame(table).repartition(3)

    def seen(frame: Any) -> list[Any]:
        return sorted((row["person"], row["city"]) for row in frame.collect())

    fresh = naive(given, survey)
    assert seen(fresh) != seen(fresh)
    kept = spark.encode_frame(given, survey, key="person", secret=SECRET, keep="person")
    assert seen(kept) == seen(kept) == seen(kept.repartition(2))
    keyed = Keyed(SECRET, (survey.fingerprint,), table["person"])
    reports = CITY.encode_many(table["city"], keyed).tolist()
    assert seen(kept) == list(zip(table["person"].to_pylist(), reports, strict=True))
    with pytest.raises(SourceError, match="600 rows have a key in 'person' that another row has"):
        spark.encode_frame(given.union(given), survey, key="person")
