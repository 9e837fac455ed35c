"""Processes die at every step of a series' day. What was shown is stored; nothing is released or paid twice.

A child takes the series up from the ledger, has one more day come, advances, and says the totals through a pipe; at its
k-th step (the beginning of a statement of the ledger, before or after a commit, before or after the reading) it kills
itself with SIGKILL. Each life draws from entropy of its own, and brings a row that no other life has: a day that two
lives released would differ.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dither.engines.duckdb import DuckDBEngine
from dither.noise import insecure_seeded
from support.daily import COUNT, FIRST, Daily, day
from support.forked import die_at_step, forked

DAYS = 3


def arm(step: int) -> None:
    """Kill this process at its `step`-th step from now on, readings of the data counted too."""
    count, measure = die_at_step(step), DuckDBEngine.measure

    def counted(*arguments: object) -> object:
        count()
        found = measure(*arguments)  # type: ignore[arg-type]
        count()
        return found

    DuckDBEngine.measure = counted  # type: ignore[method-assign, assignment]


def live(ledger: str, writer: int, life: int, released: int, offer: dict[str, object], step: int) -> None:
    daily = Daily(ledger, entropy=insecure_seeded(1000 + life), delta="1e-6")
    daily.arrive(*((life, number) for number in range(released, DAYS)))
    daily.evening_of(min(released, DAYS - 1))
    arm(step)
    session = daily.session()
    series = session.series(COUNT, name="visits", first=FIRST, days=DAYS, **offer)  # type: ignore[arg-type]
    os.write(writer, b"opened\n")
    for row in series.advance():
        os.write(writer, f"{row.day} {row.total!r}\n".encode())
    if released == DAYS and series.explain().last == day(DAYS - 1):
        series.extend(2)
    os.write(writer, b"extended\n" if released == DAYS else b"advanced\n")
    session.close()


def let_it_go_on(path: str) -> int:
    """Deaths pause the asker; the owner has looked. How many there were while data was read, as the ledger found."""
    with Daily(path, delta="1e-6").session() as owner:
        owner.ledger.unfreeze("owner", reason="simulation")
        owner.ledger.unfreeze(reason="simulation")
        return sum(row.kind == "stalled" for row in owner.ledger.log())


@pytest.mark.parametrize(
    ("offer", "stride"),
    [({"epsilon": 1}, 4), ({"rho": "1/10"}, 9), pytest.param({"rho": "1/10"}, 1, marks=pytest.mark.long)],
    ids=str,
)
def test_death_at_every_step_shows_no_total_that_is_not_stored(
    tmp_path: Path, offer: dict[str, object], stride: int
) -> None:
    path = str(tmp_path / "v.ledger")
    Daily(path, delta="1e-6").session().close()
    shown: dict[str, float] = {}
    kills = finished = released = life = 0
    step = 1
    while not finished:
        life += 1
        assert life < 300, "a life makes no progress"

        def run(writer: int, life: int = life, released: int = released, step: int = step) -> None:
            live(path, writer, life, released, offer, step)

        lines, killed = forked(run)
        kills += killed
        assert let_it_go_on(path) <= kills
        # Lives get longer until one ends by itself; the next day begins again, one step on, so that all steps are met.
        step = step + stride if killed else 1 + (step + 1) % stride
        for line in lines:
            if line[0].isdigit():
                on, total = line.split(" ")
                assert shown.setdefault(on, float(total)) == float(total), "a released total changed"
        finished = lines[-1:] == ["extended"]
        with Daily(path, delta="1e-6").session() as owner:
            problem, spent = owner.ledger.verify().problem, owner.ledger.entries()
            assert problem is None
            assert not [entry for entry in spent if entry.state != "answered"], "a death costs no charge"
            assert len(spent) <= 2
            if spent:
                kept = {str(row.day): row.total for row in owner.series(name="visits").totals()}
                assert shown.items() <= kept.items(), "a total was shown that is not stored"
                # Stored and not shown: the next life shows it from the ledger, and it may not change either.
                shown |= kept
                released = len(kept)
            elif "opened" in lines:
                pytest.fail("an opened series is gone")
    assert let_it_go_on(path) > 0
    assert kills > 80 / stride and sorted(shown) == [str(day(n)) for n in range(DAYS)]
    with Daily(path, delta="1e-6").session() as owner:
        assert len(owner.ledger.entries()) == 2
        assert owner.series(name="visits").explain().last == day(DAYS + 1)
