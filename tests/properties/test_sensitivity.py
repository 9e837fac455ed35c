"""No unit moves an integer vector by more than is priced: tried on small databases, for every operator and aggregate.

The databases hold duplicates, NULL units and keys, dangling references, ties, signed zeros, NaN, infinities, values out
of bounds, and a case-insensitive text column. Each unit is taken out in turn; `neighbours = "replace"` swaps its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from dither.errors import QueryRefused
from dither.plan.nodes import Vector
from dither.plan.price import PricedMeasure
from dither.secret import open_secret
from dither.sql.types import Kind
from support.cases import RELATIONS, Rows, heavy_rows, open_world, random_rows, without
from support.exactly import exact_answer
from support.worlds import World, catalog_text

AGGREGATES = {
    "rows": "COUNT(*)",
    "present": "COUNT(x), COUNT(region), COUNT(p)",
    "sums": "SUM(k), SUM(x), SUM(p)",
    "means": "AVG(k), AVG(x), AVG(p)",
    "spreads": "VAR_POP(x), STDDEV_SAMP(k)",
    "pairs": "CORR(x, k), COVAR_POP(x, p)",
    "regressions": "REGR_SLOPE(x, k), REGR_R2(x, p), REGR_AVGX(x, k), REGR_COUNT(x, k)",
    "shapes": "SKEWNESS(x), KURTOSIS(k), SEM(x)",
    "conditions": "COUNT_IF(flag), BOOL_AND(flag), SUM(flag)",
    "filters": "SUM(k) FILTER (WHERE flag), COUNT(*) FILTER (WHERE x > 4)",
    "expressions": "SUM(k * x), SUM(ABS(k)), SUM(GREATEST(x, p)), SUM(EXTRACT(YEAR FROM d)), AVG(LENGTH(region))",
    "distinct": "COUNT(DISTINCT k), COUNT(DISTINCT region)",
}
FEW = "COUNT(*), SUM(k), SUM(x), AVG(p), VAR_POP(x), COUNT_IF(flag)"
# Rules whose bound no database reaches: only half of dim's rows of one region meet the other condition of the left
# join; after a join, grouping by unit and region leaves a row per region, and there are two; above a join a row's
# number may repeat, so that a cut by it is not counted.
LOOSE = frozenset({"public left join", "aggregate of a join", "first row again"})


@dataclass
class Watch:
    """One priced question over one world, and the farthest each of its vectors was seen to move."""

    world: World
    sql: str
    measure: PricedMeasure
    farthest: list[int] = field(default_factory=list)

    def compare(self, before: list[dict[tuple[object, ...], int]], after: list[dict[tuple[object, ...], int]]) -> None:
        for position, (left, right) in enumerate(zip(before, after, strict=True)):
            moved = sum(abs(left.get(key, 0) - right.get(key, 0)) for key in left.keys() | right.keys())
            priced = self.measure.vectors[position]
            assert moved <= priced.distance, f"{self.sql}\n{priced.vector} moved by {moved}, priced {priced.distance}"
            self.farthest[position] = max(self.farthest[position], moved)

    def read(self, t: Rows, o: Rows) -> list[dict[tuple[object, ...], int]]:
        self.world.load("t", t)
        self.world.load("o", o)
        return self.world.vectors(self.measure.measure)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = open_world()
    yield found
    found.close()


def watch(world: World, sql: str) -> Watch:
    (measure,) = world.priced(sql).measures
    return Watch(world, sql, measure, [0] * len(measure.vectors))


def question(relation: str, aggregates: str, grouped: bool) -> str:
    key, grouping = ("region AS r, ", " GROUP BY region") if grouped else ("", "")
    return f"SELECT {key}{aggregates} FROM ({RELATIONS[relation]}) AS q{grouping}"


def strain(seen: Watch, seeds: range) -> None:
    """Compare every database with the same one less one unit."""
    for number, (t, o) in enumerate([*heavy_rows(), *(random_rows(seed) for seed in seeds)]):
        whole = seen.read(t, o)
        # Heavy databases are about unit 1; of random ones, one unit after the other.
        for unit in (1,) if number < 4 else (1 + number % 2, 3 + number % 2):
            seen.compare(whole, seen.read(without(t, unit), without(o, unit)))


@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_unit_moves_any_vector_by_more_than_is_priced(world: World, relation: str, grouped: bool) -> None:
    seen = watch(world, question(relation, FEW, grouped))
    strain(seen, range(2))
    # A bound that no database reaches would be noise for nothing.
    counts = seen.measure.measure.vectors.index(Vector("rows"))
    if relation not in LOOSE:
        assert seen.farthest[counts] == seen.measure.vectors[counts].distance, f"{seen.sql}: {seen.farthest[counts]}"


@pytest.mark.long
@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_unit_moves_any_vector_of_any_aggregate_on_many_databases(
    world: World, relation: str, grouped: bool
) -> None:
    strain(watch(world, question(relation, ", ".join(AGGREGATES.values()), grouped)), range(100, 140))


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_priced_distance_of_every_aggregate_is_reached(world: World, name: str) -> None:
    """Over a bare scan, each vector moves by exactly what is priced on some database; the product of two columns need
    not reach the ends of its interval."""
    seen = watch(world, f"SELECT {AGGREGATES[name]} FROM t")
    strain(seen, range(4))
    if name == "expressions":
        return
    for found, priced in zip(seen.farthest, seen.measure.vectors, strict=True):
        # A product of doubles has an interval rounded outward.
        exact = (Kind.INTEGER, Kind.DECIMAL)
        whole = priced.vector.expr is None or priced.vector.expr.type.kind in exact
        slack = 0 if whole else 2 * seen.measure.measure.tau
        assert priced.distance - slack <= found, f"{priced.vector} moved by {found} at most, priced {priced.distance}"


@pytest.mark.parametrize(
    "relation", ["scan", "self join", "left join", "unit aggregate with a key", "row number", "union"]
)
@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
def test_no_replaced_unit_moves_any_vector_by_more_than_is_priced(relation: str, grouped: bool) -> None:
    world = open_world(dataset='neighbours = "replace"')
    seen = watch(world, question(relation, FEW, grouped))
    found = [*heavy_rows(), *(random_rows(seed) for seed in range(3))]
    for (t, o), (other_t, other_o) in zip(found, found[1:] + found[:1], strict=True):
        new_t = without(t, 1) + [row for row in other_t if row[0] == 1]
        new_o = without(o, 1) + [row for row in other_o if row[0] == 1]
        # A unit that is nowhere in t resolves nothing in o: both databases hold unit 1.
        if any(row[0] == 1 for row in t) and any(row[0] == 1 for row in new_t):
            seen.compare(seen.read(t, o), seen.read(new_t, new_o))
    world.close()


@pytest.mark.parametrize("relation", ["scan", "self join", "distinct", "row number", "public cross join", "union all"])
def test_no_unit_moves_more_cells_of_a_quantiles_histogram_than_its_rows(world: World, relation: str) -> None:
    sql = f"SELECT region AS r, MEDIAN(x), MIN(k), MAX(p) FROM ({RELATIONS[relation]}) AS q GROUP BY region"
    (measure,) = world.priced(sql).measures

    def cells(t: Rows, o: Rows) -> list[dict[tuple[object, ...], int]]:
        world.load("t", t)
        world.load("o", o)
        (table,) = open_secret(world.engine.measure([measure.measure]))
        found = []
        for histogram in table.histograms.values():
            keys = zip(*(keys.tolist() for keys in histogram.keys.values()), histogram.cells.tolist(), strict=True)
            found.append(dict(zip(keys, histogram.counts.tolist(), strict=True)))
        return found

    farthest = 0
    for t, o in [*heavy_rows(), *(random_rows(seed) for seed in range(3))]:
        whole = cells(t, o)
        assert len(whole) == 3
        for unit in (1, 2):
            for left, right in zip(whole, cells(without(t, unit), without(o, unit)), strict=True):
                moved = sum(abs(left.get(key, 0) - right.get(key, 0)) for key in left.keys() | right.keys())
                assert moved <= measure.measure.tau
                farthest = max(farthest, moved)
    assert farthest == measure.measure.tau


# One column, nasty keys ------------------------------------------------------------------------------------------


def moved_by_one_row(world: World, sql: str, rows: Rows, own: Rows) -> tuple[int, int]:
    """(how far the first vector moves when `own` comes to `rows`, what is priced); (0, 0) where it is refused."""
    try:
        (measure,) = world.priced(sql).measures
    except QueryRefused:
        return 0, 0
    world.load("t", rows)
    before = world.vectors(measure.measure)[0]
    world.load("t", rows + own)
    after = world.vectors(measure.measure)[0]
    return sum(abs(before.get(k, 0) - after.get(k, 0)) for k in before.keys() | after.keys()), measure.vectors[
        0
    ].distance


ONE_TABLE = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 2
columns = { v = %s }
"""


def small(column: str, engine_type: str) -> World:
    return World(catalog_text(ONE_TABLE % column), {"t": f"uid BIGINT, v {engine_type}"})


@pytest.mark.parametrize("base", [10**20, 2**63 - 108, 2**62])
def test_integer_keys_beyond_53_bits_stay_apart(base: int) -> None:
    """Keys that NumPy would hold as the same double must not overwrite each other's counts."""
    world = small('{ type = "integer", bounds = [0, 300] }', "INTEGER")
    crowd = [(unit, 0) for unit in range(2, 60)]
    sql = f"SELECT COUNT(*) FROM t GROUP BY v + {base}"
    for own in range(1, 301, 23):
        moved, priced = moved_by_one_row(world, sql, crowd, [(1, own)])
        assert moved <= priced


def test_decimal_keys_beyond_the_digits_of_a_double_stay_apart() -> None:
    from decimal import Decimal

    world = small('{ type = "decimal", scale = 20, values = [0.1, 0.10000000000000000001] }', "DECIMAL(38, 20)")
    crowd = [(unit, Decimal("0.1")) for unit in range(2, 60)]
    own: Rows = [(1, Decimal("0.10000000000000000001"))]
    moved, priced = moved_by_one_row(world, "SELECT v, COUNT(*) FROM t GROUP BY v", crowd, own)
    assert moved <= priced


def test_a_noisy_table_with_decimal_keys_multiplies_no_row() -> None:
    """Joined on all its groups it has one row per group; two decimal groups must not become one double."""
    from decimal import Decimal

    world = small('{ type = "decimal", scale = 20, values = [0.1, 0.10000000000000000001] }', "DECIMAL(38, 20)")
    world.load("t", [(1, Decimal("0.1"))] * 2)
    sql = "SELECT COUNT(*) FROM t JOIN (SELECT v, COUNT(*) AS n FROM t GROUP BY v) AS x ON t.v = x.v"
    try:
        (measure,) = world.session.plan(sql).measures
    except QueryRefused:
        return
    assert exact_answer(world.session, sql).scalar() <= measure.tau


@pytest.mark.parametrize(
    ("part", "shift"),
    [
        ("YEAR", 4_000_000),
        ("DECADE", 4_000_000),
        ("CENTURY", 4_000_000),
        ("YEAR", -4_000_000),
        ("DECADE", -4_000_000),
        ("CENTURY", -4_000_000),
    ],
)
def test_the_year_of_a_shifted_date_stays_within_its_priced_range(part: str, shift: int) -> None:
    import datetime as dt

    world = small('{ type = "date", bounds = [2020-01-01, 2020-12-31] }', "DATE")
    sql = f"SELECT SUM(EXTRACT({part} FROM v + {shift})) FROM t"
    moved, priced = moved_by_one_row(world, sql, [], [(1, dt.date(2020, 6, 1))] * 2)
    assert moved <= priced


@pytest.mark.parametrize(
    "ends", [("-0.3", "0.1"), ("0", "123456789.123456789"), ("-1e-300", "1e300"), ("1e-9", "2e-9")]
)
@pytest.mark.parametrize("aggregate", ["SUM(v)", "AVG(v)", "VAR_SAMP(v)", "SUM(v * v)", "SUM(-v)", "SUM(v / 3)"])
def test_contributions_at_the_ends_of_a_double_range_stay_within_the_grid(
    aggregate: str, ends: tuple[str, str]
) -> None:
    world = small(f'{{ type = "double", bounds = [{ends[0]}, {ends[1]}] }}', "DOUBLE")
    try:
        (measure,) = world.priced(f"SELECT {aggregate} FROM t").measures
    except QueryRefused:
        assert ends == ("-1e-300", "1e300")
        return
    for value in (float(ends[0]), float(ends[1]), float("inf"), -float("inf"), 0.0, -0.0):
        world.load("t", [(1, value)] * 2)
        for vector, priced in zip(world.vectors(measure.measure), measure.vectors, strict=True):
            assert abs(vector[(0,)]) <= priced.distance


def test_contributions_of_decimals_near_half_a_step_stay_within_the_grid() -> None:
    """The upper bound lies just below a half step: its double is one unit in the last place below the half step when
    rounded at once, and may lie on it when the engine divides by a power of ten."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 60
        for number in range(1, 40):
            half = Fraction(2**30 + 2 * number + 1, 2**31)
            hi = Decimal(half.numerator) / Decimal(half.denominator) - Decimal(10) ** -17 * (number % 7 + 1)
            hi = hi.quantize(Decimal(10) ** -30)
            world = small(f'{{ type = "decimal", scale = 30, bounds = [0, {hi}] }}', "DECIMAL(38, 30)")
            (measure,) = world.priced("SELECT SUM(v) FROM t").measures
            world.load("t", [(1, hi)] * 2)
            (vector,) = world.vectors(measure.measure)
            assert abs(vector[(0,)]) <= measure.vectors[0].distance, hi
            world.close()
