"""Everything an asker sees besides the numbers must be the same on neighbouring databases.

Flow: the same questions in the same order over both databases of a Pair, each with a ledger of its own; answers,
refusals, prices, explanations, receipts and balances are compared word for word. Time is not compared.
A database that fails is a channel by itself, rationed by the freeze: here only its text is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np

from dither.audit.pipeline.databases import pairs
from dither.audit.pipeline.questions import Question, public_rows
from dither.audit.pipeline.result import Line
from dither.audit.pipeline.world import Tables, World
from dither.catalog.load import loads
from dither.catalog.model import Catalog, Table
from dither.engines.duckdb import DuckDBEngine
from dither.engines.emission import Extent
from dither.engines.sources import Enforced, view_name
from dither.errors import DitherError, EngineError
from dither.ledger.ledger import Ledger
from dither.noise import Entropy
from dither.session.session import Session

__all__ = ["channels"]

CHANNELS = "channels"
Seen = Mapping[str, Any]

_STRAINING = ("a heavy unit at the upper ends", "a heavy unit beyond the upper ends", "a unit alone in its groups")


def channels(
    catalog: Catalog,
    questions: Sequence[Question],
    *,
    ddl: Mapping[str, str],
    seed: int,
    rounds: int,
    entropy: Callable[[], Entropy | None],
    say: Callable[[str], None],
) -> Iterator[Line]:
    """A line per question, over all pairs; one for the order of groups, one for what a failing database says."""
    found: dict[str, str] = {question.sql: "" for question in questions}
    public = public_rows(catalog)
    for pair in pairs(catalog, seed=seed, rounds=rounds, public=public):
        if not (pair.name in _STRAINING or pair.name.startswith("random")):
            continue
        say(f"{CHANNELS}: {pair.name}")
        before, after = (_all_seen(catalog, questions, ddl, side, entropy()) for side in (pair.before, pair.after))
        for question, left, right in zip(questions, before, after, strict=True):
            differing = [name for name in left.keys() | right.keys() if left.get(name) != right.get(name)]
            if differing and not found[question.sql]:
                found[question.sql] = f"{' and '.join(sorted(differing))} on {pair.name}"
    for question in questions:
        differs = found[question.sql]
        word = "another" if differs else "the same"
        yield Line.judged(CHANNELS, question.sql, right=not differs, claimed="the same", found=word, detail=differs)
    yield from _order_of_groups(entropy())
    yield from _failing_database()


def _all_seen(
    catalog: Catalog, questions: Sequence[Question], ddl: Mapping[str, str], tables: Tables, entropy: Entropy | None
) -> list[Seen]:
    with World(catalog, ddl=ddl, entropy=entropy) as world:
        world.load(tables)
        return [_seen(world.session, question) for question in questions]


def _seen(session: Session, question: Question) -> Seen:
    """All an asker is shown of one question, but for the noisy numbers and what is named after them."""
    seen: dict[str, Any] = {}
    try:
        seen["explanation"] = str(session.explain(question.sql, **question.offer))
    except DitherError as error:
        seen["explanation"] = _said(error)
    try:
        answer = session.ask(question.sql, **question.offer)
        seen["error"] = None
        seen["price"] = str(answer.charged)
        seen["columns"] = (answer.columns, answer.finished.types, answer.notes)
        seen["receipt"] = json.dumps(_without_ids(answer.receipt.to_dict()))
        # Public groups are measured whatever the data; what a HAVING or LIMIT leaves of them is up to the noise.
        tables = {table.name: table for table in answer.tables}
        seen["groups"] = [
            [(name, np.ma.asarray(column).tolist()) for name, column in tables[measure.name].keys.items()]
            for measure in answer.plan.measures
            if measure.domain is not None
        ]
    except DitherError as error:
        seen["error"] = _said(error)
    seen["balance"] = str(session.budget())
    return seen


def _without_ids(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """A receipt less what is drawn at random: ids of entries, and the hashes that rest on them."""
    vectors = [{k: v for k, v in line.items() if k != "measured_by"} for line in receipt["vectors"]]
    rest = {k: v for k, v in receipt.items() if k not in ("entry", "hash", "digest")}
    return {**rest, "vectors": vectors}


def _said(error: DitherError) -> str:
    return f"{type(error).__name__} {error} {sorted(map(str, error.args))}"


_ONE_TABLE = """
[dataset]
name = "audit of channels"
[source]
url = "invented.duckdb"
[unit]
name = "person"
[budget]
epsilon = 1e9
delta = 1e-5
[tables.p]
privacy_unit = "uid"
max_rows_per_unit = 1
columns = {{ {column} }}
"""


def _order_of_groups(entropy: Entropy | None) -> Iterator[Line]:
    """Private groups come in their own order; that of storage would tell who came first."""
    with World(loads(_ONE_TABLE.format(column='note = { type = "text" }')), entropy=entropy) as world:
        # 26 groups of 40 units: at this offer all are shown. (Texts of one letter DuckDB groups in their order anyway.)
        world.fill("p", "SELECT i, md5(CAST(i // 40 AS VARCHAR)) FROM range(1040) AS r(i)")
        shown = [row[0] for row in world.session.ask("SELECT note, COUNT(*) FROM p GROUP BY note", epsilon=20).rows()]
    right = len(shown) > 1 and shown == sorted(shown)
    word = "sorted" if right else "another"
    yield Line.judged(CHANNELS, "the order of private groups", right=right, claimed="sorted", found=word)


class _Failing:
    """A source whose one view cannot be read: the database's own message holds a stored value."""

    def __init__(self, value: str) -> None:
        self.shown = "invented rows"
        self._value = value

    def mount(self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table]) -> None:
        connection.execute("CREATE TABLE stored (uid BIGINT, raw VARCHAR)")
        connection.execute("INSERT INTO stored VALUES (1, ?)", [self._value])
        for key in tables:
            connection.execute(f'CREATE VIEW "{view_name(key)}" AS SELECT uid, CAST(raw AS BIGINT) AS v FROM stored')

    def files(self) -> list[str]:
        return []

    def version(self) -> str:
        return "invented"

    def enforced(self, cursor: duckdb.DuckDBPyConnection, table: Table) -> Enforced:
        return Enforced()

    def extent(self, cursor: duckdb.DuckDBPyConnection, key: str, table: Table) -> Extent | None:
        return None

    def close(self) -> None:
        """Nothing is held."""


def _failing_database() -> Iterator[Line]:
    """Two databases that fail on different values must say the same, and neither value."""
    catalog = loads(_ONE_TABLE.format(column='v = { type = "integer", bounds = [0, 9] }'))
    said = []
    for value in ("Zebra 4711", "Okapi 0815"):
        engine = DuckDBEngine(catalog, _Failing(value), kept_path=None)
        ledger = Ledger.open(
            "", dataset=catalog.name, promise_digest=catalog.promise_digest(), budget=catalog.budget, analysts={}
        )
        with Session(catalog, engine, ledger, taus={"p": 1}) as session:
            try:
                session.ask("SELECT SUM(v) FROM p", epsilon=1)
                said.append("answered")
            except EngineError as error:
                chained = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
                said.append(f"{_said(error)} {chained or ''}")
            except DitherError as error:
                said.append(_said(error))
    leaks = any(word in text for text in said for word in ("Zebra", "4711", "Okapi", "0815"))
    right = said[0] == said[1] and not leaks and said[0] != "answered"
    word = "a fixed text" if right else "a text of the data"
    yield Line.judged(CHANNELS, "what a failing database says", right=right, claimed="a fixed text", found=word)
