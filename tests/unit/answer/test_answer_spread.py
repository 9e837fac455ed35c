"""Every noisy number has an interval or a reason, and what decides between them is true of the finish itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dither.answer.answer import Answer
from dither.answer.between import ends_at
from dither.answer.finishing import run_over
from dither.answer.matching import rows_of
from dither.answer.noisy import NoisyTable
from dither.answer.simultaneous import hold_everything
from dither.noise import insecure_seeded
from dither.plan.dependence import Dependence, Shape, Why
from dither.plan.finish import to_sql
from dither.plan.noisy_columns import columns_of
from support.worlds import World, catalog_text

TABLES = """[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 1
[tables.t.columns]
region = { type = "text", values = ["r0", "r1", "r2", "r3", "r4"] }
town = { type = "text" }
sex = { type = "integer", bounds = [0, 1] }
age = { type = "integer", bounds = [0, 9] }
x = { type = "decimal", scale = 2, bounds = [0, 100] }"""
F = "(SELECT region, COUNT(*) AS n FROM t GROUP BY region)"
R = "(SELECT region, age, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m, BOOL_OR(sex = 1) AS b FROM t GROUP BY region, age)"
H = "(SELECT town, COUNT(*) AS n FROM t GROUP BY town)"


@pytest.fixture
def world() -> Iterator[World]:
    """One for each test, whose noise must not follow from which others ran before it.
    500 people of five regions, all as large, of ten ages and five hidden towns, one town small."""
    made = World(
        catalog_text(TABLES, delta="1e-6"),
        {"t": "uid BIGINT, region TEXT, town TEXT, sex INTEGER, age INTEGER, x DECIMAL(5, 2)"},
        entropy=insecure_seeded(3),
    )
    made.fill(
        "t",
        "SELECT i, 'r' || (i % 5), 't' || CASE WHEN i < 40 THEN 9 ELSE i % 4 END, i % 2, (i // 5) % 10, "
        "CAST(((i * 7919) % 10000) / 100 AS DECIMAL(5, 2)) FROM range(500) AS x(i)",
    )
    yield made
    made.close()


# What each column must be found to be: P without noise, L a sum of noises, B bent, S smooth, F folded and between its
# ends, or why there is nothing. A check below holds each of them against the finish itself.
FOUND = [
    (f"SELECT region, SUM(n) AS v, AVG(n) AS w FROM {R} AS x GROUP BY region", "PLL"),
    (f"SELECT age % 3 AS g, SUM(n) AS v, COUNT(*) AS w FROM {R} AS x GROUP BY 1", "PLP"),
    (f"SELECT region, MIN(n) AS v, MAX(n) AS w, MEDIAN(n) AS u FROM {R} AS x GROUP BY ALL", "PFFF"),
    (f"SELECT MAX(n) AS v, MAX(-n) AS w, 2 * MAX(n) + MIN(n) AS u, MAX(m) AS y FROM {R} AS x", "FFFF"),
    (f"SELECT region, SUM(n) AS v FROM {R} AS x GROUP BY region HAVING SUM(n) > 90 ORDER BY v DESC LIMIT 2", "PL"),
    (f"SELECT age % 2 AS g, region, SUM(n) AS v FROM {R} AS x GROUP BY ROLLUP (g, region)", "PPL"),
    (f"SELECT age % 2 AS g, SUM(s) AS v FROM {R} AS x GROUP BY GROUPING SETS ((g), ())", "PL"),
    (f"SELECT DISTINCT region, SUM(n) AS v FROM {R} AS x GROUP BY region", "PL"),
    (f"SELECT region, SUM(s) AS v, SUM(s) / 3 AS w, AVG(m) AS u FROM {R} AS x GROUP BY region", "PLLS"),
    (f"SELECT region, SUM(s) / SUM(n) AS v, AVG(s / n) AS w FROM {R} AS x GROUP BY region", "PSS"),
    (f"SELECT region, COUNT(*) AS v FROM {R} AS x WHERE n > 9 GROUP BY region", "PF"),
    (f"SELECT COUNT(*) AS v, COUNT(*) FILTER (WHERE n <= 9) AS w, COUNT_IF(n > 9 AND m > 50) AS u FROM {R} AS x",
     "PFF"),
    (f"SELECT SUM(CASE WHEN n > 9 THEN 0 ELSE 1 END) AS v, MAX(n) FILTER (WHERE n > 2) AS w FROM {R} AS x", "FF"),
    (f"SELECT region, SUM(b) AS v, BOOL_AND(b) AS w FROM {R} AS x GROUP BY region", "PFF"),
    (f"SELECT region, GREATEST(n, 99) AS v, FLOOR(n / 10) AS w, SQRT(ABS(n + 100)) AS u FROM {F} AS x", "PBB-folds"),
    (f"SELECT region, SQRT(n + 100) AS v, 7 - LEAST(n, 99) AS w, -n // 7 AS u FROM {F} AS x", "PBBB"),
    (f"SELECT region, SUM(GREATEST(n, 10)) AS v, SUM(ROUND(n / 3)) AS w FROM {R} AS x GROUP BY region", "PFF"),
    (f"SELECT region, n FROM {F} AS x UNION ALL SELECT region, SUM(n) FROM {R} AS y GROUP BY region", "PL"),
    (f"SELECT 0 AS g, SUM(n) AS v FROM (SELECT n FROM {F} AS a UNION ALL SELECT n FROM {R} AS b) AS u GROUP BY g",
     "PL"),
    (f"SELECT region, SUM(b.n - a.n) AS v FROM {F} AS a JOIN {R} AS b USING (region) GROUP BY region", "PL"),
    (f"SELECT a.region, COUNT(*) AS v FROM {F} AS a JOIN {R} AS b ON a.region = b.region AND b.n > 9 GROUP BY 1", "PF"),
    (f"SELECT a.region, SUM(b.n) AS v FROM {F} AS a, {R} AS b WHERE a.region = b.region GROUP BY 1", "PL"),
    (f"SELECT region, n - (SELECT AVG(n) FROM {F} AS y) AS v FROM {F} AS x", "PL"),
    (f"SELECT region, n - (SELECT MAX(n) FROM {R} AS y) AS v FROM {F} AS x", "P-folds"),
    (f"SELECT region, n + (SELECT MAX(n) FROM {R} AS y WHERE y.region = x.region) AS v FROM {F} AS x", "PF"),
    (f"SELECT region, SUM(n) OVER (ORDER BY region) AS v, MAX(n) OVER () AS w, LAG(n) OVER (ORDER BY region) AS u "
     f"FROM {F} AS x", "PLFL"),
    (f"SELECT region, SUM(n) AS v, SUM(SUM(n)) OVER () AS w, RANK() OVER (ORDER BY region) AS u "
     f"FROM {R} AS x GROUP BY region", "PLLP"),
    (f"SELECT region, RANK() OVER (ORDER BY n) AS v, SUM(n) OVER (ORDER BY n) AS w FROM {F} AS x", "P-order-order"),
    (f"SELECT n AS v, COUNT(*) AS w FROM {F} AS x GROUP BY n", "-groups-groups"),
    (f"SELECT CASE WHEN n > 99 THEN 'large' END AS g, SUM(n) AS w FROM {F} AS x GROUP BY g", "-groups-groups"),
    (f"SELECT SUM(n) AS v, MIN(n) AS w, COUNT(DISTINCT region) AS u FROM {F} AS x WHERE n > 99", "-rows-rowsF"),
    (f"SELECT SUM(n) AS v FROM (SELECT n FROM {F} AS y ORDER BY n DESC LIMIT 2) AS x", "-rows"),
    (f"SELECT SUM(n) AS v FROM (SELECT n FROM {F} AS y ORDER BY region LIMIT 2) AS x", "L"),
    (f"SELECT SUM(n) AS v FROM (SELECT DISTINCT n FROM {F} AS y) AS x", "-rows"),
    (f"SELECT SUM(CASE WHEN n > 9 THEN n END) AS v, SUM(DISTINCT n) AS w FROM {R} AS x", "-rows-folds"),
    (f"SELECT STDDEV(n) AS v, SUM(n * n) AS w, CORR(n, s) AS u FROM {R} AS x", "-leans-leans-leans"),
    (f"SELECT MAX(n) - MIN(n) AS v, SUM(ABS(n - 10)) AS w, SUM(n % 7) AS u FROM {R} AS x", "-folds-folds-folds"),
    (f"SELECT COUNT(*) AS v, SUM(n) AS w, MAX(n) AS u FROM {H} AS x", "PLF"),
    ("SELECT MAX(d) AS v, AVG(d) AS w FROM (SELECT region, MEDIAN(age) AS d FROM t GROUP BY region) AS x",
     "-chosen-chosen"),
    (f"SELECT COALESCE(n, 0) AS v, CASE WHEN region = 'r1' THEN n ELSE 2 * n END AS w, s / NULLIF(n, 0) AS u "
     f"FROM {R} AS x", "LLS"),
    (f"SELECT COUNT(*) FILTER (WHERE CAST(n AS VARCHAR) > '9') AS v, SUM(CAST(n AS BOOLEAN)) AS w FROM {R} AS x",
     "-folds-folds"),
    (f"SELECT CASE WHEN n > 0 THEN s / n END AS v, n * s AS w, CAST(n AS DOUBLE) AS u FROM {R} AS x", "SSL"),
]  # fmt: skip
SHAPES = {"P": Shape.PUBLIC, "L": Shape.LINEAR, "B": Shape.BENT, "S": Shape.SMOOTH, "F": Shape.FOLDED}


def read(text: str) -> list[Shape | Why]:
    """`PL-rows` as what it stands for."""
    first, *reasons = text.split("-")
    found: list[Shape | Why] = [SHAPES[letter] for letter in first]
    for reason in reasons:
        word = reason.rstrip("".join(SHAPES))
        found += [Why(word), *(SHAPES[letter] for letter in reason.removeprefix(word))]
    return found


def dependences(answer: Answer) -> list[Dependence]:
    """Of the answer's columns."""
    keyed = answer.plan.keyed
    assert keyed is not None
    return columns_of(keyed.tree, answer.plan)[0][: len(answer.columns)]


@pytest.mark.parametrize(("question", "expected"), FOUND)
def test_a_column_is_found_to_depend_on_noise_as_it_does(world: World, question: str, expected: str) -> None:
    found = dependences(world.session.ask(question, epsilon=1))
    assert [each.shape if each.is_known else each.why for each in found] == read(expected)


def moved(answer: Answer, steps: list[list[np.ndarray[Any, Any]]]) -> dict[Any, dict[int, float]]:
    """The rows of the answer, by their keys, where the noisy vectors lie so many steps off."""
    keyed = answer.plan.keyed
    assert keyed is not None
    tables = [
        replace(t, values=tuple(v + s for v, s in zip(t.values, each, strict=True))).in_doubles()
        for t, each in zip(answer.tables, steps, strict=True)
    ]
    names = [f"c{i}" for i in range(len(answer.columns))] + [f"k{i}" for i in range(len(keyed.columns))]
    sql = f"SELECT * FROM ({to_sql(keyed.uncut)}) AS finish({', '.join(names)})"
    found, types = run_over(sql, tables, NoisyTable.columns)
    columns = [found[name].tolist() for name in names]
    numeric = [i for i in range(len(answer.columns)) if not types[i].startswith("VARCHAR")]
    return {
        tuple(column[row] for column in columns[len(answer.columns) :]): {
            i: float("nan") if columns[i][row] is None else float(columns[i][row]) for i in numeric
        }
        for row in range(len(columns[0]))
    }


def drawn(answer: Answer, generator: np.random.Generator) -> list[list[np.ndarray[Any, Any]]]:
    """Noise within the bounds that hold together, the same for tables that are one measure."""
    together = hold_everything(answer.plan, answer.tables)
    known: dict[Any, np.ndarray[Any, Any]] = {}
    found = []
    for table in answer.tables:
        own = []
        for position, values in enumerate(table.values):
            place = together.measured[table.name], position
            reach = int(together.steps.get(place, 0)) if generator.random() < 0.8 else 2
            at = generator.integers(-reach, reach + 1, len(values))
            known.setdefault(place, np.where(generator.random(len(values)) < 0.5, np.sign(at) * reach, at))
            own.append(known[place])
        found.append(own)
    return found


@pytest.mark.parametrize("question", [question for question, _ in FOUND])
def test_what_is_found_is_true_of_the_finish(world: World, question: str) -> None:
    """Public columns stay, sums add up, and folded ones stay between their ends, wherever noise within its bounds takes
    the noisy numbers. 40 fixed draws of noise a question: a fault in one direction or shape shows at nearly each."""
    answer = world.session.ask(question, epsilon=1)
    found, generator = dependences(answer), np.random.default_rng(8)
    still = [[np.zeros_like(values) for values in table.values] for table in answer.tables]
    plain = moved(answer, still)
    keyed = answer.plan.keyed
    assert keyed is not None
    rows = rows_of(keyed, answer.tables, answer.finished)
    assert rows is not None
    places = {key: i for i, key in enumerate(zip(*(c.tolist() for c in rows.keys.values()), strict=True))} or {(): 0}
    folded = [i for i, each in enumerate(found) if each.shape is Shape.FOLDED and each.is_known]
    ends = ends_at(answer.plan, answer.tables, rows, folded, found, None)
    assert ends is not None
    for _ in range(20):
        first, second = drawn(answer, generator), drawn(answer, generator)
        both = [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(first, second, strict=True)]
        one, other, together = (moved(answer, steps) for steps in (first, second, both))
        for key, row in plain.items():
            for i, value in row.items():
                each = found[i]
                if each.shape is Shape.PUBLIC and key in one:
                    assert one[key][i] == value or np.isnan(value)
                if each.shape is Shape.LINEAR and not np.isnan(value):
                    assert one[key][i] + other[key][i] - value == pytest.approx(together[key][i], abs=1e-6)
                if i in folded and key in places:
                    low, high = (float(end[places[key]]) for end in ends[i])
                    there = one[key][i] if key in one else 0.0 if each.zero else float("nan")
                    assert np.isnan([low, there]).any() or low <= there <= high, (i, key)


SURVEY = [
    *(question for question, _ in FOUND),
    f"SELECT * FROM {F} AS x",
    f"SELECT DISTINCT n FROM {F} AS x",
    f"SELECT n FROM {F} AS x UNION SELECT n FROM {R} AS y",
    f"SELECT n FROM {F} AS x EXCEPT SELECT n FROM {R} AS y",
    f"SELECT a.n, b.n AS k FROM {F} AS a LEFT JOIN (SELECT region, n FROM {F} AS c WHERE n > 99) AS b USING (region)",
    f"SELECT n, m FROM {F} AS a NATURAL JOIN (SELECT region, AVG(age) AS m FROM t GROUP BY region) AS c",
    f"SELECT a.n - b.n AS v FROM {F} AS a JOIN {F} AS b ON a.n > b.n",
    f"SELECT (SELECT n FROM {F} AS y ORDER BY n LIMIT 1) AS v",
    f"SELECT town, n, 2 * n AS v, SUM(n) OVER () AS w FROM {H} AS x",
    "SELECT region, MEDIAN(age) AS d, MEDIAN(age) / 2 AS h FROM t GROUP BY region",
    "SELECT region, COUNT(*) AS n, NTILE(2) OVER (ORDER BY COUNT(*)) AS v FROM t GROUP BY region HAVING COUNT(*) > 99",
    "SELECT VARIANCE(age) AS v, CORR(age, sex) AS w, STDDEV(age) / AVG(age) AS u FROM t",
    f"WITH c AS {R}, d AS (SELECT region, SUM(n) AS v FROM c GROUP BY region) SELECT AVG(v) AS a, MAX(v) AS b FROM d",
    f"WITH c AS {R}, d AS (SELECT region, SUM(n) AS v FROM c GROUP BY region) "
    "SELECT region, v / (SELECT SUM(v) FROM d) AS share FROM d",
]


@pytest.mark.parametrize("question", SURVEY)
def test_every_noisy_number_has_an_interval_or_a_reason(world: World, question: str) -> None:
    answer = world.session.ask(question, epsilon=1)
    for position, (low, high) in answer.intervals.items():
        value = np.ma.filled(np.ma.asarray(answer.finished.columns[position]).astype(float), np.nan)
        known = np.isfinite(low) & np.isfinite(high)
        assert np.all(low[known] <= high[known])
        if bool((~known & np.isfinite(value)).any()):
            assert position in answer.without_interval and answer.columns[position] in " ".join(answer.unknown())
            assert answer.unknown("zh") and "—" not in " ".join(answer.unknown())
    text = str(answer).replace("\n", " ")
    assert all(sentence in text for sentence in answer.unknown()), text


def test_what_adds_up_hidden_groups_is_said_to_be_of_those_shown(world: World) -> None:
    answer = world.session.ask(f"SELECT SUM(n) AS v, COUNT(*) AS w, MAX(n) AS u FROM {H} AS x", epsilon=1)
    assert answer.without_interval == {1: Why.HIDDEN, 2: Why.HIDDEN} and np.isfinite(answer.intervals[0][0]).all()
    assert "Groups that are not shown are not in v, w, u." in " ".join(answer.unknown())
    assert any("未显示" in sentence for sentence in answer.unknown("zh"))


def test_a_group_close_to_the_threshold_widens_what_adds_it_up(world: World) -> None:
    # The town of 40 people stands at the threshold of 1 + 14 scales or so: that it is shown says that its noise is up.
    far = world.session.ask(f"SELECT SUM(n) AS v FROM {H} AS x", epsilon=2)
    near = world.session.ask(f"SELECT SUM(n) AS v FROM {H} AS x", epsilon=0.45)
    assert len(far.tables[0].keys["k0"]) == len(near.tables[0].keys["k0"]) == 5
    (low,), (high,) = far.intervals[0]
    assert far.scalar() - low == pytest.approx(high - far.scalar(), rel=0.5)
    (low,), (high,) = near.intervals[0]
    assert near.scalar() - low > 1.2 * (high - near.scalar())


def test_a_thousand_groups_that_are_grouped_again_have_intervals() -> None:
    days = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n'
    made = World(
        catalog_text(f'{days}columns = {{ k = {{ type = "integer", bounds = [0, 999] }} }}'),
        {"t": "uid BIGINT, k INTEGER NOT NULL"},
        entropy=insecure_seeded(5),
    )
    groups = "(SELECT k, COUNT(*) AS n FROM t GROUP BY k)"
    answer = made.session.ask(f"SELECT k % 50 AS g, SUM(n) AS s, MAX(n) AS m FROM {groups} AS x GROUP BY g", epsilon=1)
    for low, high in answer.intervals.values():
        assert len(low) == 50 and np.all(low < high)


def test_intervals_are_made_when_somebody_looks(world: World) -> None:
    answer = world.session.ask(f"SELECT region, SUM(n) AS v FROM {R} AS x GROUP BY region", epsilon=1)
    assert not {"_derived", "_direct", "intervals"} & set(vars(answer))
    assert answer.df() is not None and "_derived" not in vars(answer)


def unwrapped(shown: object) -> str:
    """Lines are broken where the noisy numbers' columns leave them room."""
    return " ".join(str(shown).split())


def test_a_presentation_gives_the_reasons_for_the_columns_it_shows(world: World) -> None:
    answer = world.session.ask(
        "SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM t GROUP BY region", epsilon=1
    )
    assert answer.without_interval == {2: Why.ORDER}
    lettered = answer.present(reliability=True)
    place = lettered.columns.index("r")
    assert lettered.without_interval == {place: Why.ORDER} and "for r: it follows the order" in unwrapped(lettered)
    together = answer.simultaneous()
    assert together.without_interval == {2: Why.ALONE} and "for r: only those of counts" in unwrapped(together)
    assert "for r: it follows the order" in answer.about() and "r 没有区间" in answer.about("zh")
