"""Random questions: each is refused with a code or answered, and, in our grammar, answered as plain DuckDB does.

Never a traceback, never a message of the engine, never a broken guarantee; a refusal costs nothing. The seeds are
fixed: a question that fails is found again by its seed and number. `make fuzz` asks 20,000 and more.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

from dither.errors import BudgetError, CatalogError, DitherError, EngineError, GuaranteeError, LedgerError
from dither.noise import insecure_seeded
from support.exactly import assert_same, exact_answer, plain_answer
from support.fuzzing import Question, questions
from support.worlds import World, catalog_text

UNDECIDED = """[tables.u]
privacy_unit = "uid"
[tables.u.columns]
x = { type = "double" }
k = { type = "integer" }
m = { type = "decimal" }
b = { type = "boolean" }
g = { type = "text", values = ["a", "b"] }
[tables.v]
privacy_unit = "uid"
columns = { amt = { type = "integer" } }
"""
OFFERS = ("/* epsilon={} */ {}", "{1} -- epsilon {0}\n", "{1}\n/* epsilon={0}, delta=1e-9 */")
OURS = (EngineError, GuaranteeError, LedgerError, CatalogError, BudgetError)
"""None of these may come of a text alone: the engine was asked what it cannot do, or we broke a promise."""


@pytest.fixture(scope="module")
def undecided() -> Iterator[World]:
    ddl = {"u": "uid BIGINT, x DOUBLE, k BIGINT, m DECIMAL(12, 3), b BOOLEAN, g VARCHAR", "v": "uid BIGINT, amt BIGINT"}
    found = World(catalog_text(UNDECIDED, delta="1e-5"), ddl, entropy=insecure_seeded(4))
    found.fill(
        "u",
        "SELECT i % 400, CASE WHEN i % 7 > 0 THEN ln(1 + i) * 10 END, (i * 37) % 5000 - 300, (i % 1000) / 8, "
        "i % 3 = 0, CASE WHEN i % 5 > 0 THEN CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END END FROM range(3000) AS r(i)",
    )
    found.fill("v", "SELECT i % 500, i % 90 FROM range(1500) AS r(i)")
    yield found
    found.close()


def run(seed: int, count: int, world: World, plain: duckdb.DuckDBPyConnection, undecided: World) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for number, question in enumerate(itertools.islice(questions(seed), count)):
        here = undecided if question.kind == "undecided" else world
        before = len(here.ledger.entries())
        where = f"seed {seed}, question {number} ({question.kind}): {question.sql}"
        try:
            outcomes[f"{question.kind} {_ask(question, number, here, plain, where)}"] += 1
        except DitherError as refusal:
            assert not isinstance(refusal, OURS), f"{where}\n{refusal}"
            assert refusal.code, where
            # What a look at the rows cost stays spent where it shows too few of them, and what was measured where the
            # finish fails on the noisy values (a shift of a number below 0); all else is refused unpaid.
            assert refusal.code in ("B-120", "F-170") or len(here.ledger.entries()) == before, f"{where}\n{refusal}"
            outcomes[f"{question.kind} refused"] += 1
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{where}\n{type(error).__name__}: {error}") from error
    return outcomes


def _ask(question: Question, number: int, world: World, plain: duckdb.DuckDBPyConnection, where: str) -> str:
    if question.kind == "grammar":
        answer = exact_answer(world.session, question.sql)
        try:
            wanted = plain_answer(plain, question.sql)
        except duckdb.Error:
            # What plain DuckDB cannot answer on these rows has nothing to compare with.
            return "answered alone"
        assert_same(answer.rows(), wanted, where)
        return "the same"
    if question.kind == "undecided":
        # As if nothing had been chosen before, half of the time.
        if number % 2:
            world.session.taus.clear()
            world.session.bounds.clear()
        answer = world.session.ask(OFFERS[number % 3].format(3, question.sql))
    else:
        answer = world.session.ask(question.sql, epsilon=2)
    str(answer)
    answer.about()
    _ = answer.intervals
    return "answered"


def test_grouping_has_no_interval_and_the_other_columns_have(world: World) -> None:
    # Found by seed 10: looking at the intervals asked the engine for those of GROUPING(), and showed its message.
    answer = world.session.ask(
        "SELECT flag AS f, GROUPING(flag) AS h, COUNT(*) AS n FROM t GROUP BY ROLLUP (flag)", epsilon=2
    )
    assert sorted(answer.intervals) == [2] and "±" in str(answer)
    assert [row[1] for row in answer.rows() if row[0] is not None] == [0, 0]


def test_an_answer_without_rows_has_empty_intervals(world: World) -> None:
    # Found by seed 1001: a computed column beside a HAVING that nothing passes.
    answer = world.session.ask(
        "SELECT region, SUM(age) / COUNT(*) AS r, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS w FROM t "
        "GROUP BY region HAVING COUNT(*) > 1000000",
        epsilon=2,
    )
    assert answer.rows() == [] and str(answer)
    assert all(len(end) == 0 for ends in answer.intervals.values() for end in ends)


@pytest.mark.parametrize("seed", range(2))
def test_random_questions_are_refused_or_answered_rightly(
    seed: int, world: World, plain: duckdb.DuckDBPyConnection, undecided: World
) -> None:
    outcomes = run(seed, 60, world, plain, undecided)
    assert outcomes["grammar the same"] > 15


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_twenty_thousand_random_questions(
    seed: int, world: World, plain: duckdb.DuckDBPyConnection, undecided: World
) -> None:
    run(seed, 510, world, plain, undecided)
