"""Answers as tables and in words, on a small real session."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pandas
import pytest

import dither
from dither.answer.about import guess_after
from dither.answer.show import answer_table, to_html, to_text

COUNTS = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dither.Session]:
    """Sixty people in two regions, one of which would break a page that does not escape it."""
    file = tmp_path_factory.mktemp("people") / "people.parquet"
    with duckdb.connect(":memory:") as connection:
        region = "CASE WHEN i % 3 = 0 THEN '<b>&' ELSE 'east' END"
        rows = f"SELECT i AS person, {region} AS region, i % 90 AS age FROM range(60) AS numbers(i)"
        connection.execute(f"COPY ({rows}) TO '{file}' (FORMAT parquet)")
    with dither.open(
        file,
        privacy_unit="person",
        budget=1000,
        max_rows_per_unit=1,
        bounds={"age": (0, 90)},
        values={"region": ["<b>&", "east"]},
    ) as opened:
        yield opened


def test_text_shows_half_widths_nulls_and_the_price(session: dither.Session) -> None:
    text = to_text(session.ask(COUNTS, epsilon=1))
    assert "east" in text and "±" in text and "∅" in text
    assert "Price: epsilon 1." in text and "95 %" in text
    assert repr(session.ask(COUNTS, epsilon=1)).count("Price: nothing") == 1


def test_html_escapes_everything_and_needs_nothing_else(session: dither.Session) -> None:
    html = to_html(session.ask('SELECT region AS "<script>", COUNT(*) FROM people GROUP BY region', epsilon=1))
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert "&lt;b&gt;&amp;" in html and "<b>&" not in html
    assert "prefers-color-scheme" in html
    assert not re.search(r"(src|href|@import|url\()", html)


def test_an_invented_answer_says_so_everywhere(session: dither.Session) -> None:
    invented = replace(session.ask(COUNTS, epsilon=1), invented=True)
    assert "INVENTED" in to_text(invented) and "INVENTED" in to_html(invented)
    assert "INVENTED" in invented.about("en") and "INVENTED" in invented.about("zh")


def test_columns_may_be_set_beside_an_answer(session: dither.Session) -> None:
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(answer_table(session.ask(COUNTS, epsilon=1), beside=[("exact", ["1", "2", "3"])]))
    assert "exact" in console.export_text()


def test_a_noisy_number_without_an_interval_is_named(session: dither.Session) -> None:
    text = to_text(session.ask("SELECT MEDIAN(age) AS middle FROM people", epsilon=1))
    assert "No interval is known for middle: a quantile errs in rank" in text.replace("\n", " ") and "95 %" not in text


def test_two_columns_of_one_name_have_their_intervals(session: dither.Session) -> None:
    answer = session.ask("SELECT COUNT(*) AS twice, COUNT(*) AS twice FROM people", epsilon=1)
    half = answer.tables[0].laws[0].half_width(0.95)
    assert [(high - low)[0] for low, high in answer.intervals.values()] == [2 * half, 2 * half]


def test_a_long_answer_is_cut_with_a_word_about_the_rest(session: dither.Session) -> None:
    answer = session.ask("SELECT age, region, COUNT(*) FROM people GROUP BY age, region", epsilon=1)
    assert len(answer) > 100
    assert f"and {len(answer) - 100:,} more rows" in to_text(answer)
    assert f"and {len(answer) - 100:,} more rows" in to_html(answer)


def test_about_says_what_was_asked_protected_added_meant_and_paid(session: dither.Session) -> None:
    session.ledger.open_release("about")
    answer = session.ask("SELECT AVG(age) AS mean FROM people", epsilon="0.5")
    english, chinese = answer.about("en"), answer.about("zh")
    assert "SELECT AVG(age)" in english and "each person" in english and "At most 1 rows of one person" in english
    assert "discrete Laplace" in english and "95 of 100" in english and "right on average" in english
    assert "epsilon 0.5" in english and "at most 2.7 %" in english
    assert "Beware" not in english
    assert "提问" in chinese and "噪声" in chinese and "2.7 %" in chinese and "注意" not in chinese
    with pytest.raises(dither.InvalidParameter):
        answer.about("fr")


def test_about_warns_when_rows_are_picked_by_noise(session: dither.Session) -> None:
    answer = session.ask(COUNTS + " HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 1", epsilon=1)
    assert "sorts and filters and takes the top by noisy numbers" in answer.about("en")
    assert "排序、筛选、取前几名" in answer.about("zh")
    assert "Beware" in to_text(answer)


def test_about_a_gaussian_answer_gives_odds_with_their_chance_of_failing() -> None:
    frame = pandas.DataFrame({"person": range(60)})
    with dither.open(frame, privacy_unit="person", budget={"rho": "0.01"}, max_rows_per_unit=1) as session:
        answer = session.ask("SELECT COUNT(*) FROM data", rho="0.01")
    assert answer.charged.gaussian
    assert "fails with probability at most 1e-06" in answer.about("en")
    assert "失效" in answer.about("zh")


@pytest.mark.parametrize(("before", "epsilon", "after"), [(0.01, 0.0, 0.01), (0.5, 0.5, 0.6225), (0.01, 1.0, 0.0267)])
def test_a_guess_grows_by_the_odds(before: float, epsilon: float, after: float) -> None:
    assert guess_after(before, epsilon) == pytest.approx(after, abs=1e-4)
    assert guess_after(before, 10_000) <= 1
