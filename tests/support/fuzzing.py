"""Random questions over the clinic, from our grammar and beyond it, out of a seed alone.

Flow: `questions(seed)` writes one after another; tests/properties/test_fuzz.py asks them. Three kinds: `grammar`, whose
answer without noise must be plain DuckDB's; `broken`, one of those with tokens deleted, doubled, swapped or replaced;
`undecided`, over tables of which neither rows per unit nor bounds are known.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Question", "questions"]

_TOKENS = re.compile(r"'(?:''|[^'])*'|\w+|\s+|/\*.*?\*/|--[^\n]*\n|.", re.DOTALL)
_JUNK = [
    "(", ")", ",", "'", '"', "$$", "--", "/*", "*/", ";", "NULL", "*", "::", "[1]", "{'a': 1}", "LATERAL", "UNNEST",
    "ORDER BY 1",
    "OVER ()", "DISTINCT", "-- epsilon=x\n", "/* epsilon=0.5 */", "LIMIT -1", "RECURSIVE", "ANY_VALUE", "uid", "\u0663",
    "1e400", "99999999999999999999", "0.0", "''", "TRUE", "IN", "EXISTS", "HAVING", "x.y.z", "?", "$1", "\u00e9",
    "\u202e", "VALUES (1)",
    "PIVOT", "ASOF", "TABLESAMPLE 10%", "COLUMNS(*)", "EXCLUDE (uid)", "INTERVAL '1' DAY", "DATE '2020-13-45'", "@",
    "~", "!",
]  # fmt: skip


@dataclass(frozen=True)
class Question:
    kind: str
    sql: str


def questions(seed: int) -> Iterator[Question]:
    """Without end; the same for the same seed."""
    rng = random.Random(seed)
    while True:
        kind = rng.choices(("grammar", "broken", "undecided"), (6, 3, 1))[0]
        writer = _Writer(rng, undecided=kind == "undecided")
        sql = writer.question()
        yield Question(kind, _broken(rng, sql) if kind == "broken" else sql)


def _broken(rng: random.Random, sql: str) -> str:
    tokens = _TOKENS.findall(sql)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(tokens))
        match rng.randrange(5):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                other = rng.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = rng.choice(_JUNK)
            case _:
                tokens.insert(at, f" {rng.choice(_JUNK)} ")
        tokens = tokens or [" "]
    return "".join(tokens)


class _Writer:
    def __init__(self, rng: random.Random, *, undecided: bool) -> None:
        self.rng = rng
        self.undecided = undecided
        self.depth = 0

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def maybe(self, chance: float, text: str) -> str:
        return text if self.rng.random() < chance else ""

    # A whole question ------------------------------------------------------------------------------------------------

    def question(self) -> str:
        if self.undecided:
            return self.on_undecided()
        kind = self.pick("alone", "grouped", "grouped", "sets", "noisy", "running", "inner")
        return str(getattr(self, kind)())

    def alone(self) -> str:
        items = ", ".join(f"{self.aggregate()} AS c{i}" for i in range(self.rng.randint(1, 3)))
        return f"SELECT {items}, COUNT(*) AS n FROM {self.rows()}{self.where()}"

    def grouped(self) -> str:
        keys = self.rng.sample(_KEYS, self.rng.randint(1, 3))
        names = ", ".join(f"g{i}" for i in range(len(keys)))
        items = [f"{key} AS g{i}" for i, key in enumerate(keys)]
        items += [f"{self.aggregate()} AS c{i}" for i in range(self.rng.randint(1, 2))]
        by = self.pick(", ".join(keys), names, "ALL")
        window = self.pick(
            "", "", f", SUM(COUNT(*)) OVER (ORDER BY {names}) AS w", ", COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS w",
            f", RANK() OVER (ORDER BY COUNT(*), {names}) AS w", f", LAG(COUNT(*), 1, 0) OVER (ORDER BY {names}) AS w",
            f", AVG(COUNT(*)) OVER (ORDER BY {names} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS w",
        )  # fmt: skip
        having = self.pick("", "", " AND COUNT(*) > 20", " AND g0 IS NOT NULL", " AND AVG(age) > 20")
        finish = self.pick(
            "", f" ORDER BY {names}", f" ORDER BY COUNT(*) DESC, {names} LIMIT 3",
            f" ORDER BY {names} LIMIT 4 OFFSET 1",
            f" QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*), {names}) <= 2",
            f" QUALIFY COUNT(*) >= MAX(COUNT(*)) OVER () ORDER BY {names}",
        )  # fmt: skip
        return (
            f"SELECT {', '.join(items)}, COUNT(*) AS n{window} FROM {self.rows()}{self.where()} GROUP BY {by} "
            f"HAVING COUNT(*) > 0{having}{finish}"
        )

    def sets(self) -> str:
        a, b = self.rng.sample(_KEYS, 2)
        sets = self.pick(
            f"ROLLUP ({a}, {b})", f"CUBE ({a}, {b})", f"GROUPING SETS (({a}), ({b}), ())", f"{a}, ROLLUP ({b})",
            f"GROUPING SETS (({a}, {b}), ({a}))", f"GROUPING SETS (CUBE ({a}), ({b}))",
        )  # fmt: skip
        return (
            f"SELECT {a} AS g0, {b} AS g1, GROUPING({a}) AS h, {self.aggregate()} AS c, COUNT(*) AS n "
            f"FROM {self.rows()}{self.where()} GROUP BY {sets} HAVING COUNT(*) > 0"
        )

    def running(self) -> str:
        key = self.pick("d", "age", "DATE_TRUNC('month', d)", "EXTRACT(MONTH FROM d)")
        of = self.pick("COUNT(*)", "SUM(age)", "COUNT(*) FILTER (WHERE flag)")
        order = self.pick("", " DESC", " NULLS FIRST")
        other = self.pick("", ", region")
        part = "PARTITION BY region " if other else ""
        return (
            f"SELECT {key} AS g{other}, {of} AS c, SUM({of}) OVER ({part}ORDER BY {key}{order}) AS w, COUNT(*) AS n "
            f"FROM t{self.where()} GROUP BY {key}{other} HAVING COUNT(*) > 0"
        )

    def noisy(self) -> str:
        key = self.pick(*_KEYS)
        table = f"SELECT {key} AS g, COUNT(*) AS n, SUM(age) AS s FROM {self.rows()} GROUP BY 1 HAVING COUNT(*) > 0"
        other = f"SELECT {key} AS g, AVG(income) AS m FROM t GROUP BY g HAVING COUNT(*) > 0"
        return self.pick(
            f"SELECT AVG(n) AS a, MAX(s) AS b, COUNT(*) AS c FROM ({table}) AS x",
            f"WITH x AS ({table}) SELECT g, n, n - LAG(n) OVER (ORDER BY g) AS step FROM x WHERE n > 3",
            f"WITH x AS ({table}), y AS ({other}) SELECT x.g, n, m FROM x JOIN y ON x.g = y.g",
            f"WITH x AS ({table}), y AS ({other}) SELECT COUNT(*) AS n, SUM(m) AS m FROM x LEFT JOIN y USING (g)",
            f"SELECT n FROM ({table}) AS x UNION ALL SELECT COUNT(*) FROM t",
            f"SELECT n % 2 AS odd, COUNT(*) AS n FROM ({table}) AS x GROUP BY odd ORDER BY odd",
            f"WITH x AS ({table}) SELECT g, n FROM x QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC, g) = 1",
        )

    def inner(self) -> str:
        """Questions inside a question."""
        return self.pick(
            f"SELECT COUNT(*) AS n FROM t WHERE age > (SELECT AVG(age) FROM {self.rows()})",
            f"SELECT COUNT(*) AS n FROM t WHERE {self.condition()} AND age >= (SELECT COUNT(*) / 200 FROM t)",
            "SELECT COUNT(*) AS n FROM t WHERE region IN (SELECT region FROM t GROUP BY region HAVING COUNT(*) > 900)",
            f"SELECT (SELECT COUNT(*) FROM t) - COUNT(*) AS n FROM t{self.where()}",
        )

    def on_undecided(self) -> str:
        x = self.pick("x", "k", "m")
        what = self.pick(
            f"SUM({x})", f"AVG({x})", f"VAR_POP({x})", f"MEDIAN({x})", f"MIN({x})", f"SUM(DISTINCT {x})",
            f"SUM({x} * 2)",
            f"CORR({x}, k)", f"SUM(LEAST(GREATEST({x}, 0), 9))", f"APPROX_QUANTILE({x}, 0.9)", "COUNT(*)",
            f"SUM({x}) FILTER (WHERE b)", f"CAST(SUM({x}) AS INTEGER)", f"COUNT(DISTINCT {x})",
        )  # fmt: skip
        rows = self.pick(
            "u", "u", f"u WHERE {x} > 1", "u JOIN v USING (uid)", "u AS a JOIN u AS c USING (uid)".replace("AS a", ""),
            "(SELECT * FROM u QUALIFY ROW_NUMBER() OVER (PARTITION BY uid ORDER BY k, x, m) <= 2) AS q",
            "u WHERE uid IN (SELECT uid FROM v WHERE amt > 3) OR b",
        )  # fmt: skip
        by = self.pick("", "", " GROUP BY g", " GROUP BY ROLLUP (g)")
        if "u  JOIN u AS c" in rows:
            rows, what, by = "u AS a JOIN u AS c ON a.uid = c.uid", self.pick("SUM(a.k)", "COUNT(*)", "AVG(c.x)"), ""
        return f"SELECT {'g, ' if by else ''}{what} AS c FROM {rows}{by}"

    # Its parts -------------------------------------------------------------------------------------------------------

    def rows(self) -> str:
        if self.rng.random() < 0.45:
            return "t"
        columns = "uid, region, flag, age, income, d"
        of_t = ", ".join(f"t.{name}" for name in columns.split(", "))
        return self.pick(
            f"(SELECT * FROM t{self.where()}) AS q",
            f"(SELECT {of_t} FROM t JOIN o ON t.uid = o.uid AND ({self.pick('TRUE', 'amt > age')})) AS q",
            f"(SELECT {columns} FROM t {self.pick('', 'LEFT', 'RIGHT', 'SEMI', 'ANTI')} JOIN o USING (uid)) AS q",
            f"(SELECT {of_t} FROM t {self.pick('', 'LEFT')} JOIN dim ON t.region = dim.region) AS q",
            f"(SELECT DISTINCT {columns} FROM t{self.where()}) AS q",
            f"(SELECT {columns} FROM t {self.pick('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')} "
            f"SELECT {columns} FROM t{self.where()}) AS q",
            "(SELECT * FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY uid ORDER BY ts, age) <= "
            f"{self.rng.randint(1, 4)}) AS q",
            "(SELECT * FROM t QUALIFY age >= AVG(age) OVER (PARTITION BY uid)) AS q",
            f"(SELECT uid, region, flag, {self.pick(*_WINDOWS)} OVER (PARTITION BY uid ORDER BY ts) AS age, income, d "
            "FROM t) AS q",
            "(SELECT uid, MIN(region) AS region, BOOL_OR(flag) AS flag, "
            f"{self.pick('COUNT(*)', 'MAX(age)', 'SUM(age)', 'COUNT(DISTINCT note)')} AS age, "
            f"{self.pick('SUM(income)', 'AVG(income)', 'MIN(income)')} AS income, MAX(d) AS d FROM t{self.where()} "
            "GROUP BY uid) AS q",
            f"(WITH w AS (SELECT * FROM t{self.where()}) SELECT {columns} FROM w) AS q",
        )  # fmt: skip

    def where(self) -> str:
        return f" WHERE {self.outer_condition()}" if self.rng.random() < 0.5 else ""

    def outer_condition(self) -> str:
        """Over columns that every kind of rows has."""
        return self.pick(*_ON_ROWS)

    def condition(self) -> str:
        self.depth += 1
        try:
            if self.depth < 3 and self.rng.random() < 0.4:
                return f"({self.condition()} {self.pick('AND', 'OR')} {self.condition()})"
            return self.pick(
                *_CONDITIONS,
                f"uid {self.maybe(0.5, 'NOT ')}IN (SELECT uid FROM o WHERE amt > {self.rng.randint(0, 90)})",
                f"{self.maybe(0.5, 'NOT ')}EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND o.amt > t.age)",
                f"region {self.maybe(0.5, 'NOT ')}IN (SELECT region FROM dim WHERE n > {self.rng.randint(0, 5)})",
                f"NOT ({self.condition()})" if self.depth < 3 else "flag",
                f"{self.number()} {self.pick('=', '<>', '<', '>=')} {self.number()}",
            )
        finally:
            self.depth -= 1

    def number(self) -> str:
        self.depth += 1
        try:
            if self.depth > 3 or self.rng.random() < 0.4:
                return self.pick(
                    "age", "income", "price", "LENGTH(note)", "EXTRACT(DAY FROM d)", str(self.rng.randint(-3, 40))
                )
            return self.pick(
                f"({self.number()} {self.pick('+', '-', '*')} {self.number()})",
                f"({self.number()} / {self.rng.randint(1, 9)})",
                f"{self.pick('ABS', 'FLOOR', 'CEIL', 'SIGN', 'SIN', 'ATAN')}({self.number()})",
                f"COALESCE({self.number()}, {self.number()})",
                f"{self.pick('GREATEST', 'LEAST')}({self.number()}, {self.number()})",
                f"CASE WHEN {self.condition()} THEN {self.number()} ELSE {self.number()} END",
            )
        finally:
            self.depth -= 1

    def aggregate(self) -> str:
        return self.pick(*_AGGREGATES, f"COUNT(*) FILTER (WHERE {self.pick(*_ON_ROWS)})")


_KEYS = [
    "region", "flag", "age", "FLOOR(age / 10)", "EXTRACT(MONTH FROM d)", "age % 3", "age > 25",
    "COALESCE(region, 'none')",
    "CASE WHEN age < 22 THEN 'young' WHEN age < 27 THEN 'middle' END", "DATE_TRUNC('month', d)", "flag IS NULL",
    "NOT flag",
    "UPPER(region)", "QUARTER(d)", "LEFT(region, 1)", "ROUND(age, -1)", "STRFTIME(d, '%m')",
]  # fmt: skip
_ON_ROWS = (
    "age > 22", "flag", "region = 'R1' OR age < 20", "income * 2 > 700", "region IS NOT NULL", "d < '2020-07-01'",
    "NOT flag",
    "age BETWEEN 20 AND 25", "region IN ('R0', 'R2') AND income IS NOT NULL",
    "d >= DATE '2020-02-01' + INTERVAL '1 month'",
    "uid IN (SELECT uid FROM o WHERE amt > 50) OR flag", "flag OR uid NOT IN (SELECT uid FROM o)",
    "region IN (SELECT region FROM dim WHERE n > 2) OR age = 20",
)  # fmt: skip
_CONDITIONS = (
    "flag", "flag IS NULL", "age IS NOT NULL", "region IN ('R0', 'R2')", "note LIKE 'n1%'", "note ILIKE 'N_'",
    "REGEXP_MATCHES(note, '^n[0-4]')", "age BETWEEN 20 AND 25", "ts - d > INTERVAL '2 days'", "d > '2020-05-05'",
    "age IS DISTINCT FROM 20", "ts BETWEEN '2020-02-01' AND '2020-04-01 12:30:00'",
)  # fmt: skip
_WINDOWS = ("LAG(age)", "SUM(age)", "COUNT(*)", "RANK()", "MAX(age)", "NTILE(3)")
_AGGREGATES = (
    "COUNT(*)", "COUNT(age)", "COUNT(flag)", "SUM(age)", "SUM(income)", "AVG(age)", "AVG(income)", "SUM(age * 2 - 1)",
    "SUM(income) FILTER (WHERE flag)", "VAR_POP(age)", "STDDEV(age)", "CORR(age, income)", "COVAR_POP(age, income)",
    "COUNT_IF(flag)", "COUNT(DISTINCT age)", "SUM(age) / COUNT(age)", "SUM(age) // 7", "-COUNT(*)",
    # Off the ties, where the last bit of a mean decides.
    "ROUND(AVG(income) + 0.0123456789, 1)",
    "CASE WHEN COUNT(*) > 50 THEN 'many' ELSE 'few' END", "COUNT(DISTINCT uid)", "SUM(DISTINCT age)",
    "COALESCE(AVG(age), 0)",
)  # fmt: skip
