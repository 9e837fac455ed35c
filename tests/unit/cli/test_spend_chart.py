"""Pictures of the spend over time: what they show is what the ledger says, in every form."""

from __future__ import annotations

import io
from fractions import Fraction

from rich.console import Console

from dither.accounting.admission import Budget, Spent
from dither.cli import spend_chart
from dither.ledger.model import Reading

PURE = Budget.create(epsilon=2)
MIXED = Budget.create(epsilon=2, delta="1e-6")


def reading(day: int, epsilon: str, budget: Budget = PURE, **more) -> Reading:
    return Reading(f"2026-03-{day:02}T12:00:00+00:00", "reserved", Spent(Fraction(epsilon), **more), budget)


def drawn(history: list[Reading], width: int = 72) -> list[str]:
    target = io.StringIO()
    Console(file=target, width=width, color_system=None).print(
        spend_chart.terminal(spend_chart.curves(history), width=width)
    )
    return [line.rstrip() for line in target.getvalue().splitlines()]


def test_each_column_shows_the_meter_at_its_time() -> None:
    lines = drawn([reading(1, "0"), reading(6, "1"), reading(11, "2")])
    assert lines[0] == "epsilon: 2 of 2 spent"
    top, middle, bottom = (line[11:].ljust(60) for line in (lines[1], lines[5], lines[8]))
    # Nothing in the first half, half the height in the second, all of it at the end.
    assert bottom == " " * 29 + "█" * 31
    assert middle == bottom and top == "╌" * 59 + "█"
    assert lines[9].split() == ["2026-03-01", "2026-03-11"]


def test_a_single_moment_can_be_drawn() -> None:
    lines = drawn([reading(1, "0")])
    assert lines[0] == "epsilon: 0 of 2 spent" and "█" not in "".join(lines)
    assert spend_chart.page(spend_chart.curves([reading(1, "0")]), "t").count("<svg") == 1


def test_what_went_beyond_the_limit_shows_the_limit_inside() -> None:
    lines = drawn([reading(1, "0"), reading(2, "4"), reading(3, "4")])
    assert lines[0] == "epsilon: 4 of 2 spent"
    assert "┅" in lines[5] and "█" in lines[1]


def test_a_grant_raises_the_line() -> None:
    (curve,) = spend_chart.curves([reading(1, "0"), reading(2, "1"), reading(3, "1", Budget.create(epsilon=5))])
    assert [limit for _, _, limit in curve.points] == [2, 2, 5] and curve.top == 5


def test_meters_are_those_of_the_budget() -> None:
    shown = spend_chart.curves([reading(1, "0", MIXED), reading(2, "1", MIXED, rho=Fraction(1, 10))])
    assert [curve.meter for curve in shown] == ["epsilon", "rho", "delta for groups"]
    assert "this meter or the other" in shown[1].sentence()
    shown = spend_chart.curves([reading(1, "0", MIXED), reading(2, "0", MIXED, rho=Fraction(1, 10), gaussian=True)])
    assert "closed since 2026-03-02" in shown[0].sentence() and "or the other" not in shown[1].sentence()
    zcdp = Budget.create(rho=1)
    assert [curve.meter for curve in spend_chart.curves([reading(1, "0", zcdp)])] == ["rho"]


def test_a_sharper_figure_is_marked_where_it_is_lower() -> None:
    history = [reading(1, "0"), reading(2, "1"), reading(11, "2")]
    marks = [("2026-03-02T12:00:00+00:00", Fraction(1)), ("2026-03-06T12:00:00+00:00", Fraction(1, 2))]
    shown = spend_chart.curves(history, marks)
    target = io.StringIO()
    Console(file=target, width=72, color_system=None).print(spend_chart.terminal(shown, width=72))
    row = target.getvalue().splitlines()[7]
    # A quarter of the height, from the sixth on; before it, the theorem says no less than the sum.
    assert row[11:].rstrip() == " " * 5 + "█" * 24 + "•" * 31
    assert spend_chart.page(shown, "t").count('class="sharp"') == 1
    (view,) = spend_chart.spec(shown, "t")["vconcat"]
    assert [mark["sharp"] for mark in view["layer"][2]["data"]["values"]] == [1.0, 0.5]


def test_names_cannot_write_into_the_page() -> None:
    page = spend_chart.page(spend_chart.curves([reading(1, "0")]), "<script>x</script>", ["<b>"])
    assert "<script" not in page and "&lt;b&gt;" in page


def test_the_spec_holds_its_data_and_names_its_fields() -> None:
    spec = spend_chart.spec(spend_chart.curves([reading(1, "0"), reading(2, "1/4")]), "t")
    (view,) = spec["vconcat"]
    assert view["data"]["values"][1] == {"at": "2026-03-02T12:00:00+00:00", "spent": 0.25, "limit": 2.0}
    fields = {layer["encoding"][axis]["field"] for layer in view["layer"] for axis in ("x", "y")}
    assert fields == {"at", "spent", "limit"}
