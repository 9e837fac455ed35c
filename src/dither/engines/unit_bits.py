"""Different units counted by bits: in each group one for every number that a unit can be.

Flow: `emit` asks for it where it counts the units of all rows. Half the time of COUNT(DISTINCT), which keeps a table of
pairs; None where it cannot be, or would take more memory than that.
Relies on: statistics of the stored table, for how units are counted. They say never less than there is; were one to, a
unit outside would not be counted (a cut one could be taken off, by no more than is priced), and nothing would fail.
"""

from __future__ import annotations

import os

from dither.engines.emission import Emission
from dither.plan import nodes
from dither.sql.printing import quote_name

__all__ = ["counted_by_bits"]

MOST_BYTES = 2**29
"""Of the bits of all groups, in all threads of the engine: each has its own."""
MOST_BITS_PER_ROW = 128
"""What a pair takes in a table of pairs."""
EXACT = 2**53
"""Statistics are read as doubles."""


def counted_by_bits(measure: nodes.Measure, emission: Emission, condition: str) -> str | None:
    """SQL of how many different units a group's rows have. condition: on the rows, or nothing."""
    ends, rows = _numbers(measure, emission)
    groups = _most_groups(measure)
    if ends is None or groups is None:
        return None
    lo, hi = ends
    bits = (hi - lo + 1) * groups
    if bits > rows * MOST_BITS_PER_ROW or bits * (os.cpu_count() or 1) > 8 * MOST_BYTES:
        return None
    unit = f"CAST({quote_name(measure.unit)} AS BIGINT)"
    # A number beyond the ends would make the engine fail.
    within = " AND ".join(part for part in (condition, f"{unit} BETWEEN {lo} AND {hi}") if part)
    return f"bit_count(bitstring_agg({unit}, CAST({lo} AS BIGINT), CAST({hi} AS BIGINT)) FILTER (WHERE {within}))"


def _numbers(measure: nodes.Measure, emission: Emission) -> tuple[tuple[int, int] | None, int]:
    """Between which whole numbers the units lie, if that is known, and how many rows the table has."""
    scans = nodes.scans_of(measure.input)
    if len(scans) != 1 or scans[0].unit != measure.unit:
        return None, 0
    column, extent = emission.tables(scans[0].table).unit_column, emission.extent(scans[0].table)
    known = None if column is None or extent is None else extent.ends.get(column)
    if extent is None or known is None or max(map(abs, known)) >= EXACT:
        return None, 0
    return (int(known[0]), int(known[1])), extent.rows


def _most_groups(measure: nodes.Measure) -> int | None:
    """Listed groups, and those of NULL where such rows are dropped later; None where groups are private."""
    if not measure.keys:
        return 1
    if measure.domain is None:
        return None
    size: int = measure.domain.size
    return size + 1 if len(measure.keys) == 1 else size << len(measure.keys)
