"""Series written down by hand, with what must happen to each: `series.sql` beside this file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.errors import QueryRefused
from support.clinic import clinic
from support.worlds import World

HERE = Path(__file__).parent


def cases(kind: str) -> list[object]:
    found, expected = [], ""
    for line in (HERE / "series.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith(("-- ok", "-- refuse")):
            expected = line.removeprefix("-- ")
        elif line and not line.startswith("--") and expected.split()[0] == kind:
            found.append(pytest.param(expected.partition(" ")[2], line.removesuffix(";"), id=line))
    return found


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


@pytest.mark.parametrize(("rest", "sql"), cases("ok"))
def test_a_series_is_opened_and_advanced(world: World, rest: str, sql: str) -> None:
    assert rest == ""
    series = world.session.series(sql, name=sql[-100:], first="2020-01-01", days=60, epsilon="0.01")
    assert len(series.advance()) == 60


@pytest.mark.parametrize(("rest", "sql"), cases("refuse"))
def test_what_is_no_series_is_refused_with_code_and_place(world: World, rest: str, sql: str) -> None:
    spent = world.session.budget().spent
    with pytest.raises(QueryRefused) as refusal:
        world.session.series(sql, name="refused", first="2020-01-01", days=60, epsilon=1)
    code, place = rest.split()
    assert refusal.value.code == code
    assert refusal.value.position == tuple(map(int, place.split(":")))
    assert world.session.budget().spent == spent
