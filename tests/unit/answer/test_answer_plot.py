"""Pictures of answers: which one, that it holds what the answer holds, and clear errors where there is none."""

from __future__ import annotations

import datetime as dt
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dither
from dither.answer.combined import half_width_of_sum
from dither.answer.drawing import Box, Charts, Panel
from dither.errors import InvalidParameter
from dither.noise import insecure_seeded
from dither.session.session import Session

RANGES = {"k": (18, 88), "g": (0, 3), "d": (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 10))}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "k": generator.integers(18, 89, 500),
            "g": generator.integers(0, 4, 500),
            "r": generator.choice(["<north> & co", "south"], 500),
            "d": pd.Timestamp("2024-01-01") + pd.to_timedelta(generator.integers(0, 9, 500), unit="D"),
        }
    )
    found = dither.open(
        frame, privacy_unit="row", budget=10_000, bounds=RANGES, values={"r": ["<north> & co", "south"]},
        entropy=insecure_seeded(3),
    )  # fmt: skip
    yield found
    found.close()


@pytest.mark.parametrize(
    ("sql", "kinds"),
    [
        ("SELECT r, COUNT(*) AS n, AVG(k) AS m FROM data GROUP BY r", ["bars", "bars"]),
        ("SELECT r, g, COUNT(*) AS n FROM data GROUP BY r, g", ["bars"]),
        ("SELECT g, SUM(k) AS s FROM data GROUP BY g", ["line"]),
        ("SELECT g, COUNT(*) AS s FROM data GROUP BY g", ["line"]),
        ("SELECT CAST(d AS DATE) AS day, COUNT(*) AS n FROM data GROUP BY day", ["line"]),
        ("SELECT FLOOR(k / 10) * 10 AS age, COUNT(*) AS n FROM data GROUP BY age", ["histogram", "cdf"]),
        ("SELECT FLOOR(k / 10) * 10 AS age, AVG(g) AS m FROM data GROUP BY age", ["line"]),
        ("SELECT FLOOR(k / 10) * 10 AS age, COUNT(*) AS n FROM data GROUP BY age LIMIT 3", ["histogram"]),
        ("SELECT r, APPROX_QUANTILES(k, 10) AS q, COUNT(*) AS n FROM data GROUP BY r", ["box", "bars"]),
        ("SELECT r, MIN(k), QUANTILE_CONT(k, 0.25), MEDIAN(k), MAX(k) FROM data GROUP BY r", ["box"]),
        ("SELECT QUANTILE_CONT(k, [0.25, 0.5, 0.75]) AS q FROM data", ["box"]),
        ("SELECT QUANTILE_CONT(d, [0.25, 0.5, 0.75]) AS q FROM data", ["box"]),
        ("SELECT r, MEDIAN(k) AS m FROM data GROUP BY r", ["bars"]),
        ("SELECT r, MEDIAN(k) AS m, MAX(g) AS g FROM data GROUP BY r", ["bars", "bars"]),
    ],
)
def test_the_picture_follows_from_what_the_answer_is(session: Session, sql: str, kinds: list[str]) -> None:
    charts = session.ask(sql, epsilon=1).plot()
    assert [panel.kind for panel in charts.panels] == kinds
    ET.fromstring(charts.svg)
    assert not re.search(r"nan|inf\b", charts.svg)


def test_bands_are_the_answers_own_intervals(session: Session) -> None:
    answer = session.ask("SELECT r, COUNT(*) AS n FROM data GROUP BY r", epsilon=1)
    (panel,) = answer.plot().panels
    low, high = answer.intervals[1]
    assert [(p.value, p.low, p.high) for p in panel.points] == list(
        zip([row[1] for row in answer.rows()], low.tolist(), high.tolist(), strict=True)
    )


def test_the_running_count_has_the_band_of_a_sum_of_noises(session: Session) -> None:
    """Not that of one bin: catches totals drawn with the interval of their last count."""
    answer = session.ask("SELECT FLOOR(k / 10) * 10 AS age, COUNT(*) AS n FROM data GROUP BY age", epsilon=1)
    histogram, running = answer.plot().panels
    law = answer.tables[0].laws[0]
    values = [point.value for point in histogram.points]
    assert [point.value for point in running.points] == np.cumsum(values).tolist()
    for count, point in enumerate(running.points, start=1):
        half = half_width_of_sum(law, count, Fraction(95, 100))  # type: ignore[arg-type]
        assert point.high - point.value == pytest.approx(half)
    widths = [point.high - point.low for point in running.points]
    assert widths == sorted(widths) and widths[-1] > widths[0]


def test_the_running_counts_band_covers_the_truth() -> None:
    """40 answers of 30 bins: at least 95 % of 1,200 totals. One bin's own half-width would cover about half of them."""
    frame = pd.DataFrame({"k": np.arange(3_000) % 30})
    found = dither.open(
        frame, privacy_unit="row", budget=10_000, bounds={"k": (0, 29)}, entropy=insecure_seeded(5)
    )  # fmt: skip
    held = []
    for ask in range(40):
        sql = f"SELECT FLOOR(k / 1.0) AS b, COUNT(*) FILTER (WHERE k <> {100 + ask}) AS n FROM data GROUP BY b"
        running = found.ask(sql, epsilon=1).plot().panels[1]
        held += [p.low <= 100 * (i + 1) <= p.high for i, p in enumerate(running.points)]
    assert np.mean(held) >= 0.95
    found.close()


def test_a_box_shows_the_quantiles_of_its_row(session: Session) -> None:
    answer = session.ask("SELECT r, APPROX_QUANTILES(k, 10) AS q FROM data GROUP BY r", epsilon=1)
    (panel,) = answer.plot().panels
    for (name, listed), box in zip(answer.rows(), panel.boxes, strict=True):
        assert box.label == (name or "∅")
        assert [box.least, box.lower, box.middle, box.upper, box.most] == [listed[i] for i in (0, 2, 5, 8, 10)]
    assert "quantiles 0.2 to 0.8" in panel.note


def test_what_cannot_be_drawn_is_one_clear_error(session: Session) -> None:
    for sql in (
        "SELECT COUNT(*) AS n FROM data",
        "SELECT r, g, k, COUNT(*) AS n FROM data GROUP BY r, g, k",
        "SELECT COUNT(*) AS n, MEDIAN(k) AS m FROM data",
        "SELECT r, COUNT(*) AS n FROM data GROUP BY r HAVING COUNT(*) > 100000",
        "SELECT r, BOOL_OR(k > 3) AS b FROM data GROUP BY r",
    ):
        with pytest.raises(InvalidParameter) as error:
            session.ask(sql, epsilon=1).plot()
        assert error.value.code == "I-124"


def test_a_suppressed_number_is_not_drawn(session: Session) -> None:
    answer = session.ask("SELECT r, COUNT(*) AS n FROM data GROUP BY r", epsilon=1)
    shown = answer.present(suppress_below=50).plot()
    assert len(shown.panels[0].points) < len(answer.plot().panels[0].points)


def test_it_is_written_to_new_files_of_two_kinds(session: Session, tmp_path: Path) -> None:
    charts = session.ask("SELECT r, COUNT(*) AS n FROM data GROUP BY r", epsilon=1).plot()
    picture, page = charts.save(tmp_path / "a.svg"), charts.save(tmp_path / "a.html")
    root = ET.fromstring(picture.read_text(encoding="utf-8"))
    assert root.tag.endswith("svg") and root.get("color") == "#1a1a1a"
    assert "&lt;north&gt; &amp; co" in page.read_text(encoding="utf-8") and "<north>" not in page.read_text()
    assert "Price: " in page.read_text(encoding="utf-8")
    for place in ("a.svg", "a.png", "none/a.svg"):
        with pytest.raises(InvalidParameter) as error:
            charts.save(tmp_path / place)
        assert error.value.code == "I-125"


def test_numbers_without_a_place_are_not_drawn(session: Session) -> None:
    # A division by 0 left a line without a point, and the picture of a paid answer was an IndexError.
    for sql in ("SELECT g, COUNT(*) / 0.0 AS r FROM data GROUP BY g", "SELECT FLOOR(k / 50) * 50 AS b, COUNT(*) / 0.0"):
        text = sql if "FROM" in sql else f"{sql} AS r FROM data GROUP BY 1"
        with pytest.raises(InvalidParameter) as error:
            session.ask(text, epsilon=1).plot()
        assert error.value.code == "I-124"
    answer = session.ask("SELECT g, COUNT(*) AS n, COUNT(*) * 1e307 AS h FROM data GROUP BY g", epsilon=1)
    assert [panel.title for panel in answer.plot().panels] == ["n"]
    ET.fromstring(answer.plot().svg)


def test_an_axis_of_days_ends_where_the_calendar_does() -> None:
    # 9999-12-31 stands for "never" in many tables; the tick above it is no date.
    first, *others, last = (
        dt.datetime(year, month, day, tzinfo=dt.UTC).timestamp()
        for year, month, day in ((1, 1, 1), (1990, 1, 1), (2000, 1, 1), (2010, 1, 1), (9999, 12, 31))
    )
    for least in (first, others[0]):
        box = Box("x", least, *others, last, is_time=True)
        ET.fromstring(Charts((Panel("box", "t", "g", boxes=(box,)),), ()).svg)


def test_a_name_with_control_characters_leaves_the_picture_xml(session: Session) -> None:
    sql = 'SELECT r AS "a\x1b[31mb", COUNT(*) AS "n\x08<i>" FROM data GROUP BY r'
    charts = session.ask(sql, epsilon=1).plot()
    ET.fromstring(charts.svg)
    assert "\x1b" not in charts.svg and "&lt;i&gt;" in charts.svg
