"""Ledgers of notions apart lie beside the data set's own, one file for each notion."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dither.accounting import MetricLoss, RandomLoss
from dither.errors import PolicyRefused
from dither.ledger.apart import ApartLedger
from dither.ledger.apart_places import beside, found_beside

ADULTS = RandomLoss(Fraction(0), Fraction(0), Fraction(0), "adults")
METRES = MetricLoss(Fraction(0), "metres")


def test_each_notion_has_a_place_of_its_own_that_does_not_move() -> None:
    places = {beside("x.ledger", loss) for loss in (ADULTS, METRES, RandomLoss(*[Fraction(0)] * 3, "children"))}
    assert len(places) == 3 and beside("x.ledger", ADULTS * 3) in places
    assert beside("x.ledger", METRES).startswith("x.ledger.metric-")
    assert beside("sqlite:///x.ledger", ADULTS) == beside("x.ledger", ADULTS)


def test_in_memory_there_is_none_and_on_a_server_it_is_refused() -> None:
    assert beside("", ADULTS) == "" and found_beside("") == ()
    with pytest.raises(PolicyRefused) as refusal:
        beside("postgresql://localhost/x", ADULTS)
    assert refusal.value.code == "R-110" and found_beside("postgresql://localhost/x") == ()


def test_all_of_them_are_found_and_nothing_else(tmp_path: Path) -> None:
    ledger = str(tmp_path / "a[1]*.ledger")
    for loss in (ADULTS, METRES):
        ApartLedger.open(beside(ledger, loss), loss).close()
    for other in (".kept.duckdb", ".random-x", ".random-0123456789abc", ".metric-0123456789ab-wal"):
        Path(ledger + other).touch()
    Path(str(tmp_path / "a1b.ledger") + ".random-0123456789ab").touch()
    assert found_beside(ledger) == tuple(sorted(beside(ledger, loss) for loss in (ADULTS, METRES)))
    assert found_beside("sqlite:///" + ledger) == found_beside(ledger)
