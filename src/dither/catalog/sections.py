"""Read the sections of a catalog: plain values as TOML gives them in, a Catalog out.

Flow: called by load; columns, amounts and units are read by domains, terms and units. Raises Unfit with the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from dither.catalog.domains import read_column
from dither.catalog.locations import LEDGER_SCHEMES, SOURCE_SCHEMES, check_location
from dither.catalog.model import Catalog, Column, Fixtures, Neighbours, RowUnit, Table, fold
from dither.catalog.reading import Unfit, at, choice, distinct_names, only, table, text, whole
from dither.catalog.terms import read_analysts, read_budget
from dither.catalog.units import Declared, read_unit, resolve_unit

__all__ = ["MOST_ROWS_PER_UNIT", "read_catalog"]

MOST_ROWS_PER_UNIT = 2**31 - 1
MOST_ROWS = 2**53
_SECTIONS = ("dataset", "source", "unit", "budget", "analysts", "tables", "checks")


def read_catalog(values: Mapping[str, object], stem: str) -> Catalog:
    """The catalog that the sections declare; `stem` names the data set and its ledger where they do not.
    Raises Unfit."""
    only(values, _SECTIONS)
    dataset, source = _section(values, "dataset"), _section(values, "source")
    name, ledger, neighbours, nulls, min_units = _dataset(dataset, stem)
    url, csv = _source(source)
    unit_name = _unit_name(_section(values, "unit"))
    with at("budget"):
        budget = read_budget(_section(values, "budget"))
    with at("analysts"):
        analysts = read_analysts(_section(values, "analysts"), budget)
    return Catalog(
        name=name,
        source=url,
        unit_name=unit_name,
        budget=budget,
        tables=_tables(values),
        analysts=analysts,
        neighbours=neighbours,
        nulls=nulls,
        ledger=ledger,
        min_units_per_key=min_units,
        csv=csv,
        fixtures=_fixtures(_section(values, "checks")),
    )


def _section(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    return table(values, name, f"a section [{name}]")


def _dataset(entries: Mapping[str, object], stem: str) -> tuple[str, str, Neighbours, Literal["group", "drop"], int]:
    with at("dataset"):
        only(entries, ("name", "ledger", "neighbours", "nulls", "min_units_per_key"))
        with at("ledger"):
            ledger = check_location(text(entries, "ledger") or f"{stem}.ledger", LEDGER_SCHEMES)
            if ledger == ":memory:":
                hint = "Only `dither.open` with a frame keeps its ledger in memory; a catalog's outlives the session."
                raise Unfit("a file or a postgresql:// URL", ledger, hint=hint)
        return (
            text(entries, "name") or stem,
            ledger,
            "replace" if choice(entries, "neighbours", ("add_remove", "replace")) == "replace" else "add_remove",
            "drop" if choice(entries, "nulls", ("group", "drop")) == "drop" else "group",
            whole(entries, "min_units_per_key", 1, MOST_ROWS_PER_UNIT) or 1,
        )


def _source(entries: Mapping[str, object]) -> tuple[str, dict[str, str]]:
    with at("source"):
        only(entries, ("url", "csv"))
        url = text(entries, "url")
        if url is None:
            hint = 'Write url = "hospital.duckdb", a folder or glob of Parquet or CSV, or postgresql://host/db.'
            raise Unfit("the place of the data", key=("url",), hint=hint)
        with at("url"):
            check_location(url, SOURCE_SCHEMES)
        with at("csv"):
            csv = _csv(table(entries, "csv", 'csv = { delimiter = ",", quote = "\\"", null = "" }'))
    return url, csv


def _csv(entries: Mapping[str, object]) -> dict[str, str]:
    only(entries, ("delimiter", "quote", "null"))
    dialect: dict[str, str] = {}
    for key, value in entries.items():
        single = key != "null"
        if not isinstance(value, str) or (single and (len(value) != 1 or value in "\r\n\0")):
            raise Unfit("a single character" if single else "a text in quotes", value, key=(key,))
        dialect[key] = value
    delimiter, quote = dialect.get("delimiter", ","), dialect.get("quote", '"')
    if delimiter == quote:
        raise Unfit("a quote that is not the delimiter", quote, key=("quote" if "quote" in dialect else "delimiter",))
    return dialect


def _unit_name(entries: Mapping[str, object]) -> str:
    with at("unit"):
        only(entries, ("name",))
        name = text(entries, "name")
        if name is None or len(name) > 60 or not name.isprintable():
            hint = 'Write [unit] name = "patient", say: every message uses it.'
            raise Unfit("the word for what is protected, up to 60 characters", name, key=("name",), hint=hint)
    return name


def _tables(values: Mapping[str, object]) -> dict[str, Table]:
    """All tables, keyed by folded name: first each for itself, then the paths between them."""
    entries = _section(values, "tables")
    with at("tables"):
        if not entries:
            raise Unfit("at least one table", hint="Write a section [tables.NAME] for each table to be asked about.")
        distinct_names(entries)
        declared, tables = {}, {}
        for name in entries:
            entry = table(entries, name, f"a section [tables.{name}]")
            with at(name):
                built = _table(name, entry)
                tables[fold(name)] = built
                declared[fold(name)] = Declared(name, read_unit(entry), frozenset(built.columns))
        if all(one.rule is None for one in declared.values()):
            found = "only public ones"
            raise Unfit("at least one table with a privacy unit", found=found, code="C-140")
        for name in entries:
            with at(name):
                unit = resolve_unit(declared[fold(name)], declared)
                tables[fold(name)] = replace(tables[fold(name)], unit=unit)
    return tables


def _table(name: str, entry: Mapping[str, object]) -> Table:
    """The table as written, its unit left for `resolve_unit`."""
    only(entry, ("privacy_unit", "public", "max_rows_per_unit", "source", "rows", "columns"))
    rule = read_unit(entry)
    limit = whole(entry, "max_rows_per_unit", 1, MOST_ROWS_PER_UNIT)
    if limit is not None and (rule is None or isinstance(rule, RowUnit)):
        expected = "no limit on a public table" if rule is None else 'no limit where each row is its own unit ("row")'
        raise Unfit(expected, limit, key=("max_rows_per_unit",), code="C-140", hint="Remove the line.")
    columns = table(entry, "columns", f"a section [tables.{name}.columns]")
    rows = whole(entry, "rows", 1, MOST_ROWS)
    with at("columns"):
        distinct_names(columns)
        read, counted = {}, {}
        for column, declaration in columns.items():
            with at(column):
                read[fold(column)] = read_column(column, declaration)
                if isinstance(declaration, Mapping) and "rows" in declaration:
                    counted[fold(column)] = _rows_per_value(read[fold(column)], declaration["rows"], rows)
    return Table(name, None, read, limit, text(entry, "source"), rows, counted)


def _rows_per_value(column: Column, listed: object, rows: int | None) -> tuple[int, ...]:
    """How many rows have each listed value, in the order of the list."""
    with at("rows"):
        if column.values is None:
            hint = "Row counts belong to `values`, one to each; those of a whole table stand under [tables.NAME]."
            raise Unfit("`values` beside it", found="none", hint=hint)
        if not isinstance(listed, list) or len(listed) != len(column.values):
            raise Unfit(f"one row count for each of the {len(column.values)} values", listed)
        counts = tuple(whole({"0": count}, "0", 1, MOST_ROWS) or 0 for count in listed)
        if rows is not None and sum(counts) > rows:
            raise Unfit(f"at most the table's {rows:,} rows together", sum(counts))
    return counts


def _fixtures(entries: Mapping[str, object]) -> Fixtures:
    with at("checks"):
        only(entries, ("answered", "refused"))
        return Fixtures(_questions(entries, "answered"), _questions(entries, "refused"))


def _questions(entries: Mapping[str, object], key: str) -> tuple[str, ...]:
    listed = entries.get(key, [])
    with at(key):
        if not isinstance(listed, list):
            raise Unfit("a list of questions in quotes", listed)
        for index, question in enumerate(listed):
            if not isinstance(question, str) or not question.strip():
                raise Unfit("a question in quotes", question, key=(index,))
    return tuple(listed)
