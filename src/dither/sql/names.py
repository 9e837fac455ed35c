"""Which column a name means. Case folds in ASCII only; an ambiguous or unknown name is refused with its place.

Flow: lowering builds a `Scope` from the tables of a FROM clause; `bind` asks it for columns.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace

from dither.catalog.model import fold
from dither.errors import QueryRefused, Span
from dither.sql.expressions import Expr

__all__ = ["SCHEMAS", "NamedColumn", "Scope"]


@dataclass(frozen=True)
class NamedColumn:
    """A column as a question can name it: `qualifier.name`, and the expression it stands for."""

    qualifier: str
    name: str
    expr: Expr
    hidden: bool = False
    """Reachable by its qualified name, but not part of `*` or of bare names (the right side of USING)."""


@dataclass(frozen=True)
class Scope:
    columns: tuple[NamedColumn, ...]
    outer: Scope | None = None
    """The enclosing query's scope, for correlated subqueries."""
    tables: tuple[str, ...] = field(default=())
    """Known table names, for hints only."""

    def find(self, path: list[str]) -> NamedColumn | None:
        """The column of this scope that the path names; None when there is none. Raises LookupError if two match."""
        path = _without_schema(path)
        name, qualifier = fold(path[-1]), fold(path[-2]) if len(path) > 1 else None
        matches = [
            column
            for column in self.columns
            if fold(column.name) == name
            and (fold(column.qualifier) == qualifier if qualifier is not None else not column.hidden)
        ]
        if len(matches) > 1:
            raise LookupError(name)
        return matches[0] if matches else None

    def knows(self, path: list[str]) -> bool:
        """Does the path name any column of this scope, be it one or several?"""
        try:
            return self.find(path) is not None
        except LookupError:
            return True

    def spelling(self, path: list[str]) -> str | None:
        """The name of the column that the path means, as its table spells it; None where it means none."""
        try:
            found = self.find(path)
        except LookupError:
            return None
        return None if found is None else found.name

    def resolve(self, path: list[str], span: Span | None) -> NamedColumn:
        shown = ".".join(path)
        if len(_without_schema(path)) > 2:
            raise QueryRefused(f"`{shown}` has more parts than table and column.", code="N-103", span=span)
        try:
            found = self.find(path)
        except LookupError:
            owners = sorted({column.qualifier for column in self.columns if fold(column.name) == fold(path[-1])})
            raise QueryRefused(
                f"`{shown}` is ambiguous: {' and '.join(owners)} both have it.",
                code="N-102",
                span=span,
                hint=f"Write {owners[0]}.{path[-1]}.",
            ) from None
        if found is None:
            raise QueryRefused(
                f"There is no column `{shown}` here.",
                code="N-101",
                span=span,
                hint=self._nearest(path),
                owner_hint=OWNER,
            )
        return found

    def qualified(self, alias: str) -> Scope:
        """The same columns, now belonging to a table of this name."""
        return replace(self, columns=tuple(replace(column, qualifier=alias, hidden=False) for column in self.columns))

    def _nearest(self, path: list[str]) -> str | None:
        names = {column.name: column for column in self.columns}
        close = difflib.get_close_matches(path[-1], names, n=1)
        if close:
            return f"Did you mean `{close[0]}`?"
        if len(names) <= 30 and names:
            return f"Columns here: {', '.join(names)}."
        return None


SCHEMAS = ("main", "public")
"""What a table's name may be led by: of DuckDB and of PostgreSQL."""


def _without_schema(path: list[str]) -> list[str]:
    return path[1:] if len(path) == 3 and fold(path[0]) in SCHEMAS else path


OWNER = "A column the catalog does not name is not visible."
