"""`within=`: the least offer that keeps a ±, what it may cost, and where none can be promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from dither.errors import BudgetError, BudgetExceeded, DitherError, InvalidParameter, PolicyRefused, QueryRefused
from dither.plan.offer import Offer
from dither.plan.price import PricedPlan
from dither.session.accuracy import least_offer, least_share
from dither.session.offers import offered
from dither.session.session import Session
from dither.session.wishes import Wish
from support.clinic import CATALOG, DDL, clinic
from support.exactly import exact_answer
from support.worlds import World, catalog_text

COUNT = "SELECT region, COUNT(*) AS n FROM t GROUP BY region"


@pytest.fixture
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


def test_an_answer_keeps_the_wish_for_the_price_explain_named(world: World) -> None:
    db = world.session
    explained = db.explain(COUNT, within=50)
    assert explained.solved is not None and explained.price.epsilon == explained.solved.epsilon
    assert explained.vectors[0].half_width <= 50
    answer = db.ask(COUNT, within=50, at_most=1)
    assert answer.charged == explained.price
    low, high = answer.intervals[1]
    assert ((high - low) / 2 <= 50).all()


def test_a_mapping_and_a_text_wish_for_single_columns(world: World) -> None:
    sql = "SELECT COUNT(*) AS n, SUM(age) AS s, AVG(age) AS m FROM t"
    by_mapping = world.session.explain(sql, within={"N": 40, "s": "9000"}).solved
    assert by_mapping == world.session.explain(sql, within="n=40, s=9000").solved is not None


def test_running_totals_can_be_wished_for(world: World) -> None:
    sql = "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) AS c FROM t GROUP BY d"
    explained = world.session.explain(sql, within=300)
    assert "each within ± 300" in explained.notes[0] or "each within ± 299" in explained.notes[0]


@pytest.mark.parametrize(
    ("sql", "within", "way"),
    [
        ("SELECT AVG(age) AS m FROM t", 1, "epsilon="),
        ("SELECT AVG(age) AS m, COUNT(*) AS n FROM t", 50, '{"n": 50}'),
        ("SELECT note, COUNT(*) AS n FROM t GROUP BY note", 50, "list the groups"),
        ("SELECT MEDIAN(age) AS m FROM t", 1, "epsilon="),
        ("SELECT COUNT(*) * 2 AS twice FROM t", 1, "epsilon="),
        ("SELECT COUNT(*) AS n FROM t", {"m": 1}, "Counts and sums"),
    ],
)
def test_where_no_half_width_is_known_beforehand_it_is_refused_with_a_way_forward(
    world: World, sql: str, within: Any, way: str
) -> None:
    before = world.session.budget().spent
    with pytest.raises(InvalidParameter) as refused:
        world.session.ask(sql, within=within)
    assert refused.value.code == "M-120" and way in str(refused.value.hint)
    assert world.session.budget().spent == before


def test_more_than_at_most_is_refused_and_not_charged(world: World) -> None:
    before = world.session.budget().spent
    with pytest.raises(BudgetError) as refused:
        world.session.ask(COUNT, within=5, at_most="0.5")
    assert refused.value.code == "M-122" and refused.value.exit_status == 3
    assert "epsilon 0.5 would buy n ± 72" in str(refused.value.hint)
    assert world.session.budget().spent == before


def test_what_was_released_before_counts_as_free_under_at_most(world: World) -> None:
    world.session.ask(COUNT, within=50)
    assert world.session.ask(COUNT, within=50, at_most="0.001").charged.epsilon == 0


def test_more_than_is_left_is_refused_and_not_charged() -> None:
    text = catalog_text(_tables(), epsilon="0.25")
    world = World(text, {"t": DDL["o"]})
    try:
        with pytest.raises(BudgetExceeded):
            world.session.ask("SELECT COUNT(*) AS n FROM t", within=20, at_most=5)
        assert world.session.budget().spent.epsilon == 0
    finally:
        world.close()


RHO = CATALOG.replace("epsilon = 1e9", "rho = 1")


@pytest.mark.parametrize(
    ("catalog", "gaussian"), [(RHO, False), (RHO.replace("rho = 1", "rho = 1\ngaussian = true"), True)]
)
def test_gaussian_noise_keeps_a_wish_only_where_the_catalog_says_so(catalog: str, gaussian: bool) -> None:
    """Of three sums by day, Gaussian noise at the same ± is the cheaper by far: each unit moves many groups."""
    world = clinic(catalog)
    try:
        explained = world.session.explain(COUNT, within=120)
        assert explained.price.gaussian == gaussian
        assert ("of a budget in rho it takes" in str(explained)) != gaussian
        with pytest.raises(BudgetError) as refused:
            world.session.ask(COUNT, within=120, at_most=explained.price.rho * Fraction(99, 100))
        assert refused.value.code == "M-122" and "costs rho" in refused.value.message
        assert ("would buy n ±" in str(refused.value.hint)) == gaussian
        assert world.session.ask(COUNT, within=120, at_most=explained.price.rho).charged == explained.price
    finally:
        world.close()


@pytest.mark.parametrize(
    ("sql", "within", "gaussian"),
    [("SELECT d, SUM(income) AS s FROM t GROUP BY d", 90_000, False), (COUNT, 3000, True)],
)
def test_in_an_epsilon_budget_the_noise_that_takes_less_of_it_is_chosen(sql: str, within: int, gaussian: bool) -> None:
    """Of epsilon 1 (and its rho*): 0.40 against 1.13 for the first, 0.012 against 0.001 for the second."""
    world = clinic(CATALOG.replace("epsilon = 1e9", "epsilon = 1\ngaussian = true"))
    try:
        db = world.session
        budget = db.ledger.budget
        laplace, normal = (
            least_offer(db, at_of(db, sql), Wish(Fraction(within)), rho=rho).price for rho in (False, True)
        )
        assert laplace.epsilon is not None and budget.epsilon is not None
        assert (normal.rho / budget.rho_limit < laplace.epsilon / budget.epsilon) == gaussian
        assert db.explain(sql, within=within).price == (normal if gaussian else laplace)
        # at_most is in epsilon, which Gaussian noise does not have.
        assert not db.ask(sql, within=within, at_most=1).charged.gaussian
    finally:
        world.close()


def at_of(db: Session, sql: str) -> Callable[[Offer], PricedPlan]:
    plan = db.plan(sql)
    return lambda offer: db.price_of(plan, offer)


def test_an_easy_wish_costs_the_least_price(world: World) -> None:
    least = world.session.catalog.budget.minimum_price
    assert world.session.explain(COUNT, within=10**9).price.epsilon == least


def test_a_wish_that_nothing_reaches_is_refused(world: World) -> None:
    with pytest.raises(DitherError) as refused:
        world.session.explain("SELECT SUM(income) AS s FROM t", within="1e-12")
    assert refused.value.code == "M-120"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"within": 50, "epsilon": 1}, "M-101"),
        ({"epsilon": 1, "rho": 1}, "M-101"),
        ({"at_most": 1}, "M-101"),
        ({"at_most": 1, "epsilon": 1}, "M-101"),
        ({"within": 0}, "I-100"),
        ({"within": {}}, "I-100"),
        ({"within": {"n": 1, "N": 2}}, "I-100"),
        ({"within": float("nan")}, "I-100"),
        ({"within": "n=1, n=2"}, "I-100"),
    ],
)
def test_arguments_that_cannot_stand_together_are_refused(given: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        offered("SELECT 1", **given)
    assert refused.value.code == code


def test_the_text_and_the_arguments_agree_or_are_refused() -> None:
    text = "SELECT 1 /* epsilon=0.5 */"
    assert offered(text) == offered(text, epsilon=0.5) == offered("SELECT 1", epsilon="1/2")
    assert offered("SELECT 1 -- within 50", within=50.0, at_most=1).at_most == Fraction(1)
    for given in ({"epsilon": "0.4"}, {"rho": 1}, {"within": 5}):
        with pytest.raises(QueryRefused) as refused:
            offered(text, **given)  # type: ignore[arg-type]
        assert refused.value.code == "M-121" and refused.value.position == (1, 10)
    for twice in ("/* epsilon=1 */ SELECT 1 -- epsilon=2", "/* epsilon=1; within=2 */ SELECT 1"):
        with pytest.raises(QueryRefused):
            offered(twice)


def test_the_text_of_the_answer_is_the_text_typed(world: World) -> None:
    typed = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) AS n FROM t"
    answer = world.session.ask(typed)
    assert answer.receipt.question == typed and answer.charged.epsilon == Fraction(1, 2)
    with pytest.raises(QueryRefused) as refused:
        world.session.ask(typed.replace("COUNT(*)", "nothing"))
    assert refused.value.position == (1, typed.index("COUNT") + 1)


def test_the_clause_changes_nothing_but_the_offer(world: World) -> None:
    clause = COUNT.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1000, delta=1e-8)")
    assert exact_answer(world.session, clause).rows() == exact_answer(world.session, COUNT).rows()


def test_a_narrower_delta_raises_the_threshold_of_private_groups(world: World) -> None:
    sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta={}) note, COUNT(*) AS n FROM t GROUP BY note"
    assert world.session.explain(sql.format("1e-12")).price.delta == Fraction(1, 10**12)
    wide, own = (world.session.explain(sql.format(d)).price.delta for d in ("0.5", "0.9"))
    assert wide == own < Fraction(1, 1000), "an option never widens what the catalog allows"


def test_a_plan_takes_no_price_from_a_text(world: World) -> None:
    for text in ("SELECT COUNT(*) FROM t /* epsilon=0.5 */", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) 1"):
        with pytest.raises(QueryRefused) as refused:
            world.session.plan_budget([text], epsilon=1)
        assert refused.value.code == "M-121"
    with pytest.raises(InvalidParameter):
        world.session.plan_budget("/* epsilon=1 */ SELECT COUNT(*) FROM t", epsilon=1)


def test_the_search_gives_what_it_tried_and_one_less_does_not_do() -> None:
    for least in (1, 5, 17):
        found = least_share(lambda share: share >= 17, least=least, most=100)
        assert found == 17
    assert least_share(lambda share: share >= 17, least=20, most=100) == 20
    assert least_share(lambda share: False, least=1, most=100) is None


def test_an_offer_below_the_least_price_is_still_refused(world: World) -> None:
    with pytest.raises(PolicyRefused):
        world.session.ask("SELECT COUNT(*) AS n FROM t /* epsilon=0.0001 */")


def _tables() -> str:
    return (
        '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 2\n[tables.t.columns]\n'
        'kind = { type = "text", values = ["a", "b"] }\n'
    )
