"""Questions for quantiles: lists, what they cost, what serves again, the ends of their intervals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dither
from dither.accounting import ComposedEvent, ExponentialEvent
from dither.answer import files
from dither.errors import DitherError, InvalidParameter, QueryRefused
from dither.noise import insecure_seeded
from dither.plan.offer import Offer
from dither.session.session import Session

ROWS = 2_000
Opener = Callable[..., Session]


@pytest.fixture
def session() -> Iterator[Session]:
    found = opened(pd.DataFrame(columns()))
    yield found
    found.close()


def columns() -> dict[str, object]:
    generator = np.random.default_rng(2)
    return {
        "x": generator.gamma(2.0, 100.0, ROWS).clip(0, 1_000),
        "k": generator.integers(18, 88, ROWS),
        "g": generator.integers(0, 3, ROWS),
        "d": pd.Timestamp("2024-01-01") + pd.to_timedelta(generator.integers(0, 300, ROWS), unit="D"),
    }


def opened(frame: pd.DataFrame, **terms: object) -> Session:
    bounds = {"x": (0, 1_000), "k": (18, 88), "g": (0, 2), "d": ("2024-01-01 00:00:00", "2024-12-31 00:00:00")}
    bounds = {name: ends for name, ends in bounds.items() if name in frame}
    typed = {
        n: tuple(pd.Timestamp(e).to_pydatetime() for e in ends) if n == "d" else ends for n, ends in bounds.items()
    }
    known = {"privacy_unit": "row", "budget": 10_000, "bounds": typed, "entropy": insecure_seeded(3), **terms}
    return dither.open(frame, **known)  # type: ignore[arg-type]


def test_a_list_has_the_elements_that_columns_of_their_own_have(session: Session) -> None:
    answer = session.ask(
        "SELECT QUANTILE_CONT(x, [0.75, 0.25]) AS q, QUANTILE_CONT(x, 0.25) AS a, QUANTILE_CONT(x, 0.75) AS b, "
        "QUANTILE_CONT(x, [0.75, 0.25])[2] AS second FROM data",
        epsilon=1,
    )
    ((listed, a, b, second),) = answer.rows()
    assert listed == [b, a] and second == a
    assert len(answer.tables[0].vectors) == 1


def test_approx_quantiles_part_the_rows_evenly_and_keep_the_type(session: Session) -> None:
    ((ages,),) = session.ask("SELECT APPROX_QUANTILES(k, 10) FROM data", epsilon=1000).rows()
    assert len(ages) == 11 and all(isinstance(age, int) for age in ages) and ages == sorted(ages)
    true = np.quantile(np.asarray(columns()["k"]), np.arange(11) / 10)
    assert np.abs(np.array(ages) - true).max() <= 1
    ((days,),) = session.ask("SELECT APPROX_QUANTILES(d, 2) FROM data", epsilon=1000).rows()
    assert [day.year for day in days] == [2024] * 3


def test_lists_are_written_to_every_kind_of_file(session: Session) -> None:
    answer = session.ask("SELECT g, APPROX_QUANTILES(k, 2) AS q FROM data GROUP BY g ORDER BY g LIMIT 1", epsilon=1)
    ((_, listed),) = answer.rows()
    assert json.loads(files.to_json(answer, intervals=True))["rows"][0][1] == listed
    assert json.dumps(listed) in files.to_csv(answer, intervals=False).decode()
    assert str(listed[0]) in repr(answer) and answer._repr_html_() and "q" in answer.about()


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("QUANTILE_CONT(x, [])", "A-107"),
        ("QUANTILE_CONT(x, [0.5, NULL])", "A-107"),
        ("QUANTILE_CONT(x, [0.5, 1.5])", "A-107"),
        ("QUANTILE_CONT(x, [0.5, k])", "A-107"),
        ("QUANTILE_CONT(x, [0.1234567, 0.5])", "A-107"),
        ("APPROX_QUANTILES(x, 0)", "A-107"),
        ("APPROX_QUANTILES(x, 1000000)", "A-107"),
        ("APPROX_QUANTILES(x, -2)", "A-107"),
        ("APPROX_QUANTILES(x, 2.5)", "A-107"),
        ("APPROX_QUANTILES(x, g)", "A-107"),
        ("APPROX_QUANTILES(x)", "A-107"),
        ("APPROX_QUANTILES(DISTINCT x, 4)", "A-104"),
        ("APPROX_QUANTILES(x, 4) || 'a'", "F-171"),
    ],
)
def test_lists_that_mean_nothing_are_refused_unpaid(session: Session, sql: str, code: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        session.ask(f"SELECT {sql} FROM data", epsilon=1)
    assert refusal.value.code == code
    assert session.ledger.spent().epsilon == 0


def test_nine_deciles_cost_four_choices_at_a_quarter_each(session: Session) -> None:
    listed = ", ".join(f"0.{i}" for i in range(1, 10))
    plan = session.plan(f"SELECT QUANTILE_CONT(x, [{listed}]) FROM data")
    ((vector,),) = (measure.vectors for measure in session.price_of(plan, Offer.create(epsilon=1)).measures)
    assert vector.event == ComposedEvent((ExponentialEvent(Fraction(1, 4)),) * 4)
    assert vector.price.epsilon == 1 and vector.price.rho == Fraction(4, 8 * 16)
    ((vector,),) = (measure.vectors for measure in session.price_of(plan, Offer.create(rho="0.5")).measures)
    assert Fraction("0.499999") < vector.price.rho <= Fraction("0.5")


def test_what_was_released_serves_again_and_so_does_a_part_of_it(session: Session) -> None:
    def cost(shares: str, epsilon: str) -> Fraction:
        charged = session.ask(f"SELECT g, QUANTILE_CONT(x, [{shares}]) AS q FROM data GROUP BY g", epsilon=epsilon)
        assert charged.charged.epsilon is not None
        return charged.charged.epsilon

    assert cost("0.25, 0.5, 0.75", "1") == 1
    first = session.ask("SELECT g, QUANTILE_CONT(x, [0.25, 0.5, 0.75]) AS q FROM data GROUP BY g", epsilon=1).rows()
    assert cost("0.75, 0.25, 0.5", "1") == 0
    part = session.ask("SELECT g, QUANTILE_CONT(x, 0.75) AS q FROM data GROUP BY g", epsilon="0.3")
    assert part.charged.epsilon == 0
    assert [(g, q[2]) for g, q in first] == part.rows()
    # One quantile alone at that price is more accurate than one of three: it is measured.
    assert cost("0.75", "0.9") == Fraction("0.9")
    # What is not in the list, and the same of other rows, is not known.
    assert cost("0.25, 0.6", "0.1") == Fraction("0.1")
    assert session.ask("SELECT QUANTILE_CONT(x, 0.5) FROM data", epsilon="0.1").charged.epsilon == Fraction("0.1")


def test_extremes_of_few_or_equal_or_no_rows_are_answered() -> None:
    for values in ([], [87], [87] * 50, [20] * 500 + [87]):
        frame = pd.DataFrame({"k": pd.Series(values, dtype="int64")})
        with opened(frame) as session:
            sql = "SELECT MIN(k), MEDIAN(k), MAX(k), APPROX_QUANTILES(k, 4), QUANTILE_CONT(k, 0.9) FROM data"
            ((least, middle, most, listed, _),) = session.ask(sql, epsilon=5_000).rows()
            if values:
                # The greatest is 87 and the bound 88: no noise to speak of, and never the bound.
                assert (least, middle, most) == (min(values), float(np.median(values)), max(values))
                assert listed[0] == least and listed[-1] == most
            session.ask(sql, epsilon="0.01", quantile_intervals=False)


# Intervals ----------------------------------------------------------------------------------------------------------


def test_an_interval_is_two_more_vectors_that_explain_shows(session: Session) -> None:
    sql = "SELECT g, MEDIAN(x) AS m FROM data GROUP BY g"
    explained = session.explain(sql, epsilon=1, quantile_intervals=True)
    assert [vector.what for vector in explained.vectors] == [
        "MEDIAN(x) by g", "lower end of MEDIAN(x) by g", "upper end of MEDIAN(x) by g",
    ]  # fmt: skip
    answer = session.ask(sql, epsilon=1, quantile_intervals=True)
    assert answer.charged.epsilon == 1 == explained.price.epsilon
    assert answer.charged.rho == Fraction(3, 8 * 9)
    low, high = answer.intervals[1]
    values = np.array([row[1] for row in answer.rows()])
    assert (low <= values).all() and (values <= high).all() and np.isfinite(low).all() and (high <= 1_000).all()
    # The median alone is known now; so is the whole.
    assert session.ask(sql, epsilon="0.2").charged.epsilon == 0
    assert session.ask(sql, epsilon=1, quantile_intervals=True).charged.epsilon == 0


def test_without_rows_the_interval_is_all_of_the_bounds(session: Session) -> None:
    sql = "SELECT MEDIAN(x), MIN(k) FROM data WHERE k < 0"
    answer = session.ask(sql, epsilon=1, quantile_intervals=True)
    wide = [(low[0], high[0]) for low, high in answer.intervals.values()]
    assert wide == [(0.0, 1_000.0), (18.0, 88.0)]


@pytest.mark.parametrize(
    "sql",
    ["SELECT COUNT(*) FROM data", "SELECT MEDIAN(x) * 2 FROM data", "SELECT APPROX_QUANTILES(x, 2) FROM data",
     "SELECT MEDIAN(d) FROM data"],
)  # fmt: skip
def test_intervals_that_could_not_be_shown_are_not_bought(session: Session, sql: str) -> None:
    with pytest.raises(DitherError) as error:
        session.ask(sql, epsilon=1, quantile_intervals=True)
    assert error.value.code in ("I-123", "A-109")
    assert session.ledger.spent().epsilon == 0


def test_what_is_computed_from_a_quantile_has_no_interval(session: Session) -> None:
    """It was shown as ± 0: the replicates held the chosen value still."""
    sql = (
        "SELECT g, MEDIAN(x) / COUNT(*) AS a, COUNT(*) * 2.5 AS b, CAST(MEDIAN(x) AS INTEGER) AS c FROM data GROUP BY g"
    )
    answer = session.ask(sql, epsilon=1)
    for position in (1, 3):
        assert np.isnan(answer.intervals[position]).all()
    assert "± 0" not in repr(answer)
    known = session.ask("SELECT g, MEDIAN(x) / COUNT(*) AS a, COUNT(*) * 2.5 AS b FROM data GROUP BY g", epsilon=1)
    assert np.isfinite(known.intervals[2]).all()


def test_intervals_come_out_of_chosen_bounds_too() -> None:
    frame = pd.DataFrame({"x": np.arange(5_000) / 10})
    with dither.open(frame, privacy_unit="row", budget=100, entropy=insecure_seeded(4)) as session:
        answer = session.ask("SELECT MEDIAN(x) AS m FROM data", epsilon=10, quantile_intervals=True)
        low, high = answer.intervals[0]
        assert low[0] <= 249.95 <= high[0]


def test_one_with_no_quantile_says_so_at_once(session: Session) -> None:
    with pytest.raises(InvalidParameter, match="MEDIAN"):
        session.explain("SELECT COUNT(*) FROM data", epsilon=1, quantile_intervals=True)
