"""How many kept rows there are of each size: what the private choice of bounds reads.

Flow: an engine prints the kept rows of a column and hands them in; one row per occupied level comes out.
Total on every number: 0 is level 0, an infinity is in the last level, NULL and NaN are in none.
"""

from __future__ import annotations

import math

from dither.mechanisms.value_bounds import BELOW_ONE, LEVELS, RATIO

__all__ = ["levels_sql"]


def levels_sql(rows: str, number: str) -> str:
    """SELECT level, n: level from -LEVELS to LEVELS, the sign that of the value. number: SQL over the rows."""
    value = f"CAST({number} AS DOUBLE)"
    return (
        f"SELECT level, count(*) AS n FROM (SELECT CASE WHEN isnan(v) THEN NULL WHEN v > 0 THEN {_level('v')} "
        f"WHEN v < 0 THEN -{_level('-v')} WHEN v = 0 THEN CAST(0 AS BIGINT) END AS level "
        f"FROM (SELECT {value} AS v FROM ({rows}) AS q) AS numbers) AS levels WHERE level IS NOT NULL GROUP BY level"
    )


def _level(positive: str) -> str:
    """ceil(log(v) / log(1.25)) counted from the smallest level, within 1 and the last."""
    number = f"ceil(ln({positive}) * CAST('{1 / math.log(RATIO)!r}' AS DOUBLE)) + {BELOW_ONE}"
    return f"CAST(least(greatest({number}, 1), {LEVELS}) AS BIGINT)"
