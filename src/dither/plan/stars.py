"""`*`, `t.*` and COLUMNS(...) of a SELECT list, written out as the columns they stand for, as DuckDB does it.

Flow: `rows`, `unit_rows` and `group_keys` write out what stands for columns of people's rows, `finish` what stands for
columns of noisy tables. Which columns there are is public: names of the catalog and of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dither.sql import embedded
from dither.sql.bind import literal_of
from dither.sql.parse import Tree

__all__ = ["Column", "Shown", "expand", "holds_columns", "per_column"]

Json = dict[str, Any]
Column = tuple[str, str]
"""(table's alias, column's name), of the visible columns of a FROM clause, in order."""


@dataclass(frozen=True)
class Shown:
    """One column that a star gives: the column at this place, or, of REPLACE, an expression in its place."""

    name: str
    place: int
    replaced: Tree | None = None


def expand(star: Tree, columns: Sequence[Column]) -> list[Shown]:
    """What `*`, `t.*`, EXCLUDE, REPLACE, RENAME and COLUMNS(...) as an item of a SELECT list stand for."""
    chosen = _chosen(star, columns)
    excluded = {str(name).lower() for name in star.take("exclude_list") or []}
    replaced = {str(entry["key"]).lower(): Tree(entry["value"], star.text) for entry in star.take("replace_list") or []}
    renamed = {}
    for entry in star.take("rename_list") or []:
        if entry["key"]["table"]:
            raise star.refuse("P-129", "RENAME takes a column's name alone here.")
        renamed[str(entry["key"]["column"]).lower()] = str(entry["value"])
    star.done()
    names = {columns[place][1].lower() for place in chosen}
    for word, listed in (("EXCLUDE", excluded), ("REPLACE", replaced), ("RENAME", renamed)):
        for name in listed:
            if name not in names:
                raise star.refuse("N-101", f"{word} names `{name}`, which is no column here.", hint=_listed(columns))
    shown = []
    for place in chosen:
        name = columns[place][1]
        if name.lower() not in excluded:
            shown.append(Shown(renamed.get(name.lower(), name), place, replaced.get(name.lower())))
    if not shown:
        raise star.refuse("N-101", "This stands for no column.", hint=_listed(columns))
    return shown


def holds_columns(item: Tree) -> bool:
    """Is COLUMNS(...) inside the expression, so that it stands for one expression per column?"""
    return item.kind != "STAR" and bool(_inside(item.data))


def per_column(item: Tree, columns: Sequence[Column]) -> list[Tree]:
    """AVG(COLUMNS('a|b')) as AVG(a), AVG(b). Without an alias each is called as its column is."""
    stars = _inside(item.data)
    if any(_bare(star) != _bare(stars[0]) for star in stars):
        raise item.refuse("P-129", "Several different COLUMNS(...) in one expression are not supported.")
    if "\\" in item.alias:
        raise item.refuse("P-129", "Names made from COLUMNS(...) are not supported.", hint="Name each column.")
    found = []
    for shown in expand(Tree(stars[0], item.text), columns):
        qualifier, name = columns[shown.place]
        path = [qualifier, name] if qualifier else [name]
        written = _with(item.data, {**_column_shape(), "column_names": path})
        found.append(Tree({**written, "alias": item.alias or shown.name}, item.text))
    return found


def _chosen(star: Tree, columns: Sequence[Column]) -> list[int]:
    qualifier = str(star.take("relation_name") or "").lower()
    places = [i for i, (table, _) in enumerate(columns) if not qualifier or table.lower() == qualifier]
    if qualifier and not places:
        raise star.refuse("N-100", f"There is no table `{qualifier}` here.")
    wanted = star.child("expr") if star.take("columns") else None
    if wanted is None:
        return places
    if wanted.kind == "FUNCTION" and wanted.data.get("function_name") == "list_value":
        names = [str(literal_of(part).payload) for part in wanted.arguments()]
        by_name = {columns[place][1].lower(): place for place in reversed(places)}
        for name in names:
            if name.lower() not in by_name:
                raise star.refuse("N-101", f"There is no column `{name}` here.", hint=_listed(columns))
        return sorted({by_name[name.lower()] for name in names})
    pattern = literal_of(wanted).payload if wanted.kind == "CONSTANT" else None
    if not isinstance(pattern, str):
        raise star.refuse(
            "P-129", "COLUMNS takes a pattern or a list of names.", hint="Write COLUMNS('a|b') or COLUMNS(['a', 'b'])."
        )
    matched = [_matches(columns[place][1], pattern, star) for place in places]
    return [place for place, found in zip(places, matched, strict=True) if found]


def _matches(name: str, pattern: str, star: Tree) -> bool:
    found = embedded.evaluate("regexp_matches(?, ?)", name, pattern)
    if found is None:
        raise star.refuse("P-129", "This pattern of COLUMNS cannot be read.")
    return bool(found[0])


def _inside(data: Any) -> list[Json]:
    """The COLUMNS(...) of an expression, not counting subqueries."""
    if isinstance(data, list):
        return [star for part in data for star in _inside(part)]
    if not isinstance(data, dict) or data.get("class") == "SUBQUERY":
        return []
    if data.get("class") == "STAR":
        return [data] if data.get("columns") else []
    return [star for value in data.values() for star in _inside(value)]


def _bare(data: Any) -> Any:
    if isinstance(data, list):
        return [_bare(part) for part in data]
    if not isinstance(data, dict):
        return data
    return {key: _bare(value) for key, value in data.items() if not key.startswith("query_location")}


def _with(data: Any, column: Json) -> Any:
    if isinstance(data, list):
        return [_with(part, column) for part in data]
    if not isinstance(data, dict):
        return data
    if data.get("class") == "STAR" and data.get("columns"):
        places = {name: data.get(name) for name in ("query_location", "query_location_length")}
        return {**column, **places}
    return {key: _with(value, column) for key, value in data.items()}


def _column_shape() -> Json:
    node: Json = embedded.parse_json("SELECT x")["statements"][0]["node"]["select_list"][0]
    return node


def _listed(columns: Sequence[Column]) -> str:
    return f"Columns here: {', '.join(dict.fromkeys(name for _, name in columns))}."
