"""Series of a session: charged once, released day by day, the same after any restart, and never a day too early."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dither.errors import (
    BudgetExceeded,
    EngineError,
    InvalidParameter,
    LedgerConflict,
    LedgerCorrupt,
    PolicyRefused,
)
from dither.mechanisms.running.tree import choose_tree
from dither.noise import insecure_seeded
from dither.session.series import Series
from support.daily import COUNT, FIRST, TABLES, Daily, day, no_noise, numbers


@pytest.fixture
def daily(tmp_path: Path) -> Iterator[Daily]:
    found = Daily(str(tmp_path / "v.ledger"), delta="1e-6")
    yield found
    found.close()


def opened(daily: Daily, **changes: object):
    return daily.session().series(COUNT, **{"name": "visits", "first": FIRST, "days": 6, "epsilon": 1, **changes})


@pytest.mark.parametrize("offer", [{"epsilon": 1}, {"epsilon": None, "rho": "1/2"}], ids=str)
def test_without_noise_totals_are_those_of_the_rows_that_count(daily: Daily, offer: dict[str, object]) -> None:
    daily.arrive((1, 0), (1, 1), (1, 2), (2, 2), (3, 2), (3, 2), (3, 2), (4, -1), (4, 1))
    daily.evening_of(3)
    with no_noise():
        series = opened(daily, **offer)
        rows = series.advance()
    assert [row.day for row in rows] == [day(n) for n in range(4)]
    assert numbers(rows) == pytest.approx([1, 3, 6, 6], abs=0.01)
    a_range = series.between(day(1), day(2))
    assert a_range.value == pytest.approx(5, abs=0.01)
    value, half_width = a_range
    assert value == a_range.value and half_width > 0


def test_sums_are_in_the_unit_of_the_data(daily: Daily) -> None:
    daily.arrive((1, 0, 2.5), (2, 1, 7.25), (3, 1, 99.0))
    daily.evening_of(1)
    with no_noise():
        series = daily.session().series(
            "SELECT day, SUM(x) FROM v GROUP BY day", name="sum", first=FIRST, days=3, epsilon=1
        )
        assert numbers(series.advance()) == [2.5, 19.75]
    plain = opened(daily)
    assert series.explain().half_width == pytest.approx(10 * plain.explain().half_width, rel=0.3)


def test_opening_charges_all_days_before_anything_is_read_and_a_second_time_nothing(daily: Daily) -> None:
    session = daily.session()
    session.series(COUNT, name="visits", first=FIRST, days=6, epsilon=1)
    assert session.ledger.spent().epsilon == 1
    session.series(COUNT, name="visits", first="2026-01-01", days=6, epsilon="1.0")
    session.series(COUNT.lower().replace("v group", "V  group"), name="visits")
    again = daily.session().series(name="visits")
    assert again.text == COUNT
    assert session.ledger.spent().epsilon == 1
    (entry,) = session.ledger.entries()
    assert (entry.state, entry.price.epsilon, entry.text) == ("answered", 1, COUNT)


def test_a_series_without_room_in_the_budget_is_refused_and_not_there(tmp_path: Path) -> None:
    daily = Daily(str(tmp_path / "v.ledger"), epsilon="1")
    with pytest.raises(BudgetExceeded):
        opened(daily, epsilon=2)
    with pytest.raises(InvalidParameter, match="no series"):
        daily.session().series(name="visits")
    opened(daily)
    daily.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"question": "SELECT day, COUNT(*) FROM v WHERE x > 1 GROUP BY day"},
        {"question": "SELECT day, COUNT(x) FROM v GROUP BY day"},
        {"first": day(1)},
        {"days": 7},
        {"epsilon": 2},
        {"epsilon": None, "rho": 1},
    ],
    ids=str,
)
def test_a_changed_series_under_a_name_is_refused(daily: Daily, changes: dict[str, object]) -> None:
    opened(daily)
    given = {"question": COUNT, "first": FIRST, "days": 6, "epsilon": 1, **changes}
    session = daily.session()
    with pytest.raises(LedgerConflict) as refused:
        session.series(given.pop("question"), name="visits", **given)
    assert refused.value.code == "L-400"
    assert session.ledger.spent().epsilon == 1


def test_a_catalog_that_makes_it_another_question_is_refused(daily: Daily, tmp_path: Path) -> None:
    opened(daily)
    changed = Daily(daily.ledger, tables=TABLES.replace("max_rows_per_unit = 2", "max_rows_per_unit = 3"), delta="1e-6")
    changed.evening_of(1)
    series = changed.session().series(name="visits")
    for going_on in (series.advance, series.extend, series.explain):
        with pytest.raises(LedgerConflict, match="something else"):
            going_on()
    changed.close()


def test_totals_keep_their_unit_when_the_catalog_changes(daily: Daily) -> None:
    daily.arrive((1, 0, 2.5))
    daily.evening_of(0)
    with no_noise():
        summed = daily.session().series(
            "SELECT day, SUM(x) FROM v GROUP BY day", name="sum", first=FIRST, days=3, epsilon=1
        )
        shown = summed.advance()
    assert shown[0].total == 2.5
    changed = Daily(daily.ledger, tables=TABLES.replace("[0, 10]", "[0, 1000]"), delta="1e-6")
    assert changed.session().series(name="sum").totals() == shown
    changed.close()


@pytest.mark.parametrize("missing", ["question", "first", "days", "epsilon"])
def test_a_new_series_needs_all_its_terms(daily: Daily, missing: str) -> None:
    given = {"question": COUNT, "first": FIRST, "days": 6, "epsilon": 1, missing: None}
    session = daily.session()
    with pytest.raises(InvalidParameter):
        session.series(given.pop("question"), name="visits", **given)
    assert not session.ledger.entries()


@pytest.mark.parametrize("days", [0, -1, True, 1.5, 10**6])
def test_a_series_has_a_number_of_days(daily: Daily, days: object) -> None:
    with pytest.raises(InvalidParameter, match="days"):
        opened(daily, days=days)


@pytest.mark.parametrize("first", ["yesterday", 5, dt.datetime(2026, 1, 1), "9999-12-31"])
def test_a_series_begins_on_a_date(daily: Daily, first: object) -> None:
    with pytest.raises(InvalidParameter):
        opened(daily, first=first)


def test_days_that_declared_bounds_would_move_are_refused(tmp_path: Path) -> None:
    tables = TABLES.replace('day = { type = "date" }', 'day = { type = "date", bounds = [2026-01-01, 2026-01-06] }')
    daily = Daily(str(tmp_path / "v.ledger"), tables=tables)
    with pytest.raises(InvalidParameter, match="bounds"):
        opened(daily, days=7)
    series = opened(daily)
    daily.evening_of(9)
    series.advance()
    with pytest.raises(InvalidParameter, match="bounds"):
        series.extend()
    daily.close()


def test_no_day_is_released_before_it_is_over(daily: Daily) -> None:
    series = opened(daily)
    assert series.advance() == ()
    with pytest.raises(InvalidParameter, match="over"):
        series.advance(through=FIRST)
    with pytest.raises(InvalidParameter, match="through"):
        series.advance(complete=True)
    assert len(series.advance(through=FIRST, complete=True)) == 1
    daily.evening_of(2)
    with pytest.raises(InvalidParameter, match="over"):
        series.advance(through=day(3))
    assert [row.day for row in series.advance(through=day(1))] == [day(1)]
    assert [row.day for row in series.advance()] == [day(2)]
    assert series.advance(through=day(1)) == ()
    daily.evening_of(50)
    with pytest.raises(InvalidParameter, match="paid for"):
        series.advance(through=day(6))
    assert [row.day for row in series.advance()] == [day(3), day(4), day(5)]
    assert series.advance() == ()


def test_released_totals_stay_when_late_rows_come(daily: Daily) -> None:
    daily.arrive((1, 0), (2, 1))
    daily.evening_of(1)
    with no_noise():
        opened(daily).advance()
        before = daily.session().series(name="visits").totals()
        # Unit 3 comes late with many rows, of released days and of the open one: one of the open day still counts.
        daily.arrive((3, 0), (3, 2), (3, 2), (3, 2), (2, 0), (2, 1), (2, 2))
        daily.evening_of(2)
        series = daily.session().series(name="visits")
        assert numbers(series.advance()) == [3]
        assert series.totals()[:2] == before


def test_a_restart_goes_on_from_what_is_stored(daily: Daily) -> None:
    """Each day by a session of its own is the same stream as all days by one."""
    daily.arrive(*((unit, unit % 6) for unit in range(60)))
    daily.entropy = insecure_seeded(3)
    opened(daily)
    shown = []
    for number in range(6):
        daily.evening_of(number)
        shown += daily.session().series(name="visits").advance()
    assert tuple(shown) == daily.session().series(name="visits").totals()
    assert [row.day for row in shown] == [day(n) for n in range(6)]
    assert daily.session().ledger.spent().epsilon == 1
    assert daily.session().ledger.verify().problem is None


def test_an_extension_is_charged_and_begins_the_limits_anew(daily: Daily) -> None:
    daily.arrive((1, 0), (1, 0), (1, 5), (1, 6), (1, 7), (1, 8))
    with no_noise():
        series = opened(daily)
        with pytest.raises(InvalidParameter, match="not yet released"):
            series.extend()
        daily.evening_of(20)
        assert numbers(series.advance())[-1] == 2
        before = series.explain()
        assert series.extend().epsilon == 1
        assert series.explain().last == before.growth[0][0] == day(17)
        assert series.explain().price == before.growth[0][1]
        assert numbers(series.advance()) == [3, 4, *[4] * 10]
    session = daily.session()
    assert session.ledger.spent().epsilon == 2
    again = session.series(COUNT, name="visits", first=FIRST, days=6, epsilon=1)
    assert len(again.totals()) == 18
    found = again.between(day(4), day(8))
    assert found.value == 2
    assert found.half_width > 0
    assert session.ledger.verify().problem is None


def test_a_series_of_one_analyst_is_not_anothers(tmp_path: Path) -> None:
    tables = TABLES + "[analysts.ada]\nepsilon = 1\n[analysts.bob]\nepsilon = 1\n"
    daily = Daily(str(tmp_path / "v.ledger"), tables=tables)
    daily.session("ada").series(COUNT, name="visits", first=FIRST, days=6, epsilon=1)
    with pytest.raises(InvalidParameter, match="no series"):
        daily.session("bob").series(name="visits")
    daily.session("bob").series(COUNT, name="visits", first=FIRST, days=9, epsilon="0.5")
    assert daily.session("ada").series(name="visits").explain().last == day(5)
    daily.close()


def test_of_two_that_advance_at_once_one_releases(daily: Daily, monkeypatch: pytest.MonkeyPatch) -> None:
    daily.evening_of(3)
    one, other = opened(daily), daily.session().series(name="visits")
    measure = one._session.engine.measure
    first: list[object] = []

    def overtaken(measures: object) -> object:
        first.extend(other.advance())
        return measure(measures)

    monkeypatch.setattr(one._session.engine, "measure", overtaken)
    with pytest.raises(LedgerConflict) as refused:
        one.advance()
    assert refused.value.code == "L-410"
    assert len(first) == 4
    assert tuple(first) == one.totals()


def test_engine_failures_show_nothing_and_count_towards_the_freeze(
    daily: Daily, monkeypatch: pytest.MonkeyPatch
) -> None:
    daily.evening_of(3)
    series = opened(daily)

    def fails(measures: object) -> object:
        raise EngineError("The database failed.")

    with monkeypatch.context() as patch:
        patch.setattr(series._session.engine, "measure", fails)
        for _ in range(3):
            with pytest.raises(EngineError):
                series.advance()
    with pytest.raises(PolicyRefused):
        series.advance()
    assert series.totals() == ()
    ledger = series._session.ledger
    assert ledger.spent().epsilon == 1
    assert ledger.verify().problem is None
    ledger.unfreeze("owner", reason="looked")
    ledger.unfreeze(reason="looked")
    assert len(series.advance()) == 4


def test_after_a_backup_was_put_back_a_series_shows_but_does_not_go_on(daily: Daily) -> None:
    daily.evening_of(1)
    series = opened(daily)
    shown = series.advance()
    series._session.ledger.charge_worst_case("put back")
    daily.evening_of(2)
    with pytest.raises(LedgerConflict) as refused:
        series.advance()
    assert refused.value.code == "L-420"
    assert series.totals() == shown


def test_only_the_newest_state_is_in_the_ledgers_files(daily: Daily, tmp_path: Path) -> None:
    """Also while the ledger is open, and where the state gets shorter."""
    daily.arrive((1, 0), (2, 1), (3, 2))
    series = opened(daily, epsilon=None, rho="1/2", days=300)
    pieces = [_piece(series)]
    for number in (0, 1, 2):
        daily.evening_of(number)
        series.advance()
        pieces.append(_piece(series))
        assert [piece for piece in pieces if piece in _files(tmp_path)] == pieces[-1:]
    daily.evening_of(300)
    series.advance()
    assert len(set(pieces)) == 4 and not [piece for piece in pieces if piece in _files(tmp_path)]
    daily.close()
    assert not [piece for piece in pieces if piece in _files(tmp_path)]


def _piece(series: Series) -> bytes:
    """Some pending numbers of the state, as they are stored."""
    stored = series._book.find("owner", "visits")
    assert stored is not None
    return json.dumps(json.loads(stored.state)["owner"]["pending"][0][-3:]).encode()[1:-1]


def _files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_a_state_put_back_is_noticed(daily: Daily) -> None:
    daily.evening_of(1)
    series = opened(daily)
    with sqlite3.connect(daily.ledger) as connection:
        ((old,),) = connection.execute("SELECT state FROM dither_series_state").fetchall()
    series.advance()
    with sqlite3.connect(daily.ledger) as connection:
        connection.execute("UPDATE dither_series_state SET state = ?", [old])
    connection.close()
    with pytest.raises(LedgerCorrupt):
        series.totals()
    assert "series" in str(daily.session().ledger.verify().problem)


def test_no_state_and_no_total_is_in_the_export(daily: Daily) -> None:
    daily.evening_of(3)
    series = opened(daily)
    series.advance()
    lines = [json.loads(line) for line in series._session.ledger.export()]
    kinds = [line["kind"] for line in lines if line["line"] == "row"]
    assert kinds == ["created", "reserved", "answered", "advanced"]
    assert [line["sign"] for line in lines if line["line"] == "row"] == [0, 1, 0, 0]
    assert "pending" not in json.dumps(lines) and "totals\\" not in json.dumps(lines)


def test_names_are_short_and_printable(daily: Daily) -> None:
    for name in ("", "a\x1fb", "n" * 101):
        with pytest.raises(InvalidParameter, match="name"):
            opened(daily, name=name)


def test_an_explanation_tells_the_price_of_going_on_and_what_it_rests_on(daily: Daily) -> None:
    found = opened(daily).explain()
    assert [cost.epsilon for _, cost in found.growth] == [2, 3, 4, 5]
    text = str(found)
    assert "first 2 of its rows" in text and "added only" in text and "not counted" in text
    assert json.loads(json.dumps(found.to_dict()))["price"]["epsilon"] == str(Fraction(1))


@pytest.mark.parametrize(
    ("neighbours", "question", "most"),
    [
        ("add_remove", COUNT, 2),
        ("replace", COUNT, 4),
        ("add_remove", "SELECT day, SUM(x) FROM v GROUP BY day", 2 * 2560),
        ("replace", "SELECT day, SUM(x) FROM v GROUP BY day", 4 * 2560),
    ],
)
def test_what_is_charged_is_the_distance_of_two_kept_rows(
    tmp_path: Path, neighbours: str, question: str, most: int
) -> None:
    """In steps of 1/256 for the sum: at most 10 a row. Each count is in one node a level."""
    daily = Daily(str(tmp_path / "v.ledger"), dataset=f'neighbours = "{neighbours}"')
    session = daily.session()
    session.series(question, name="s", first=FIRST, days=100, epsilon=1)
    ((event,),) = (entry.events for entry in session.ledger.entries())
    assert event.distance == most * choose_tree(100).levels
    assert event.scale == event.distance
    daily.close()


def test_the_privacy_statement_says_what_a_series_rests_on(daily: Daily) -> None:
    from dither.session.statement_facts import gather

    ledger = daily.session().ledger
    assert not gather(daily.catalog, ledger).series
    series = opened(daily)
    facts = gather(daily.catalog, ledger)
    assert facts.series and facts.questions == 1
    series._book.stalled(series._opened)
    assert [each.kind for each in gather(daily.catalog, ledger).commands] == ["created"]


def test_every_total_lies_within_the_stated_width_of_the_rest(daily: Daily) -> None:
    daily.evening_of(5)
    series = opened(daily)
    rows = series.advance()
    assert max(row.half_width for row in rows) <= series.explain().half_width
