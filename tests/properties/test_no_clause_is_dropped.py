"""Take any clause out of an accepted question, and it must be another question.

Every WHERE, HAVING, QUALIFY, FILTER, DISTINCT, join condition, group, order and limit of every question that
`tests/golden/questions.sql` answers is deleted, one at a time. What is left is refused, or has another fingerprint: so
none was read and then dropped. That the fingerprint's meaning is the answer is what the golden questions check, on rows
on which most clauses matter.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dither.errors import QueryRefused
from dither.plan import finish
from dither.plan.fingerprint import plan_fingerprint
from dither.sql import embedded
from support.exactly import difference, plain_answer
from support.worlds import World

GOLDEN = Path(__file__).parent.parent / "golden" / "questions.sql"
SINGLE = ("where_clause", "having", "qualify", "filter", "filter_expr", "condition")
LISTS = ("group_expressions", "modifiers", "partitions", "orders", "group_sets")


def accepted() -> Iterator[str]:
    same = False
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("-- ") and line.split()[1].rstrip(":") in ("same", "refuse", "later", "fault"):
            same = line.split()[1] == "same"
        elif same and line and not line.startswith("--"):
            yield line.removesuffix(";")


def mutants(tree: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(what was taken out, the tree without it), for every clause at every depth."""
    for path, name in places(tree, ()):
        changed = copy.deepcopy(tree)
        node: Any = changed
        for step in path:
            node = node[step]
        if name == "distinct":
            node[name] = False
        elif name in SINGLE:
            node[name] = None
        else:
            node[name] = node[name][:-1]
            if name == "group_expressions":
                node["group_sets"] = [list(range(len(node[name])))] if node[name] else []
        yield name, changed


def places(node: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(node, dict):
        for name, value in node.items():
            deletable = name == "distinct" or name in SINGLE or (name in LISTS and name != "group_sets")
            if deletable and value and not (name == "condition" and node.get("type") != "JOIN"):
                yield path, name
            yield from places(value, (*path, name))
    elif isinstance(node, list):
        for position, item in enumerate(node):
            yield from places(item, (*path, position))


@pytest.mark.parametrize("sql", list(accepted()))
def test_a_question_without_one_of_its_clauses_is_another(world: World, sql: str) -> None:
    session = world.session
    whole = plan_fingerprint(session.plan(sql), session.catalog)
    tree = embedded.parse_json(sql)["statements"][0]["node"]
    for name, changed in mutants(tree):
        try:
            text = finish.to_sql(changed)
            less = session.plan(text)
        except (QueryRefused, duckdb.Error):
            continue
        assert plan_fingerprint(less, session.catalog) != whole, f"{name} was dropped: {text}"


def test_most_clauses_change_the_answer_on_these_rows(plain: duckdb.DuckDBPyConnection) -> None:
    """The clinic's rows are made so that clauses matter: else the test above would have nothing to see."""
    changed = total = 0
    for sql in accepted():
        for _, mutant in mutants(embedded.parse_json(sql)["statements"][0]["node"]):
            try:
                before, after = plain_answer(plain, sql), plain_answer(plain, finish.to_sql(mutant))
            except duckdb.Error:
                continue
            total += 1
            changed += difference(after, before) is not None
    assert total > 100
    assert changed > 0.6 * total
