"""Which finishes pick rows by noisy numbers."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dither.answer.picks import picks_of


@dataclass(frozen=True)
class Finish:
    """What is read of a plan."""

    finish_sql: str
    phases: tuple[()] = ()


@pytest.mark.parametrize(
    ("sql", "picks"),
    [
        ("SELECT k0 AS region, a0 AS n FROM m0", ()),
        ("SELECT k0 AS region, a0 AS n FROM m0 ORDER BY k0 LIMIT 3", ()),
        ("SELECT k0 AS region, a0 AS n FROM m0 ORDER BY 1", ()),
        ("SELECT k0 AS region, a0 AS n FROM m0 WHERE k0 = 'x'", ()),
        ("SELECT k0 AS region, a0 AS n FROM m0 ORDER BY a0", ("sort",)),
        ("SELECT k0 AS region, a0 AS n FROM m0 ORDER BY 2 DESC LIMIT 3", ("sort", "top")),
        ("SELECT k0 AS region, a0 + 1 AS n FROM m0 ORDER BY n", ("sort",)),
        ("SELECT k0 AS region, a0 AS n FROM m0 WHERE a0 > 10", ("filter",)),
        ("SELECT z FROM (SELECT k0 AS k, a0 / a1 AS z FROM m0) AS t WHERE z > 1 ORDER BY k", ("filter",)),
        ("SELECT max(n) FROM (SELECT a0 AS n FROM m0) AS t", ("top",)),
        (
            "SELECT k0 AS k, rank() OVER (ORDER BY a0) AS r FROM m0 QUALIFY rank() OVER (ORDER BY a0) < 3",
            ("sort", "filter"),
        ),
        ("SELECT k0 AS k, a0 AS n FROM m0 UNION ALL SELECT k0 AS k, a0 AS n FROM m1 ORDER BY n", ("sort",)),
        ("SELECT k0 AS k, a0 AS n FROM m0 UNION ALL SELECT k0 AS k, a0 AS n FROM m1 ORDER BY 2", ("sort",)),
    ],
)
def test_picking_by_noise_is_seen_through_names_and_nesting(sql: str, picks: tuple[str, ...]) -> None:
    assert picks_of(Finish(sql)) == picks
