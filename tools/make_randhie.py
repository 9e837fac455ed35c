"""Make src/dither/data/randhie.parquet from the RAND Health Insurance Experiment file that statsmodels ships.

    pip download statsmodels --no-deps -d /tmp/wheel && unzip -d /tmp/wheel /tmp/wheel/statsmodels-*.whl
    python tools/make_randhie.py /tmp/wheel/statsmodels/datasets/randhie/src/randhie.csv

Run once; the result is under version control. src/dither/data/README.md says where each column comes from.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

TARGET = Path(__file__).parent.parent / "src" / "dither" / "data" / "randhie.parquet"

# Ages are whole years, money is whole dollars: nobody asks for more, and the file is half the size.
COLUMNS = """
    SELECT CAST(zper AS INTEGER)                               AS person,
           CAST(year AS TINYINT)                               AS year,
           CAST(site AS TINYINT)                               AS site,
           CAST(coins AS TINYINT)                              AS coinsurance,
           CASE female WHEN 1 THEN 'female' ELSE 'male' END    AS sex,
           CAST(floor(xage) AS TINYINT)                        AS age,
           CAST(round(income) AS INTEGER)                      AS income,
           CAST(num AS TINYINT)                                AS family_size,
           CASE WHEN hlthg = 1 THEN 'good' WHEN hlthf = 1 THEN 'fair' WHEN hlthp = 1 THEN 'poor' ELSE 'excellent' END
                                                               AS health,
           CAST(round(disea, 1) AS DOUBLE)                     AS chronic,
           CAST(mdvis AS SMALLINT)                             AS visits,
           CAST(totadm AS TINYINT)                             AS admissions,
           CAST(round(meddol) AS INTEGER)                      AS spending
    FROM read_csv(?, header = true)
    ORDER BY person, year
"""


def main(source: str) -> None:
    connection = duckdb.connect(":memory:")
    connection.execute(f"CREATE TABLE person_years AS {COLUMNS}", [source])
    connection.execute(f"COPY person_years TO '{TARGET}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)")
    rows, persons = connection.execute("SELECT count(*), count(DISTINCT person) FROM person_years").fetchone() or (0, 0)
    print(f"{TARGET}: {rows:,} rows of {persons:,} persons, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
