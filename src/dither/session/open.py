"""Open a session: from a catalog file, or straight from a frame or a data file.

Flow: `dither.open`. Checks the catalog against the engine's schema before anything is asked.
"""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dither.catalog.arguments import from_arguments
from dither.catalog.check import check, ready
from dither.catalog.load import load, resolve_ledger, resolve_source
from dither.catalog.model import Catalog, fold
from dither.engines.describing import describe, describe_frame
from dither.engines.duckdb import DuckDBEngine, open_engine
from dither.engines.sources import with_paths
from dither.errors import EngineMismatch, InvalidParameter
from dither.exact import Number
from dither.ledger.ledger import Ledger
from dither.noise import Entropy
from dither.session.remembered import recall
from dither.session.same_source import ledgers_beside
from dither.session.session import Session

__all__ = ["open", "open_catalog", "open_rehearsal"]

Clock = Callable[[], dt.datetime]


def open(
    source: Any,
    *,
    privacy_unit: str | None = None,
    budget: Number | Mapping[str, Any] | None = None,
    delta: Number | None = None,
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    values: Mapping[str, list[Any]] | None = None,
    max_rows_per_unit: int | None = None,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    entropy: Entropy | None = None,
    clock: Clock | None = None,
) -> Session:
    """Open a data set for questions.
    source: a catalog file (`dither.toml`), or a data file, or a pandas, Polars or Arrow table.
    Without a catalog: `privacy_unit` is a column, or "row"; `budget` is the epsilon of everything ever asked, kept in
    memory unless `ledger` names a file; `bounds` and `values` declare columns.
    Raises CatalogError, InvalidParameter, EngineUnavailable, EngineMismatch, LedgerError."""
    if isinstance(source, str | Path) and str(source).lower().endswith(".toml"):
        given = {
            "privacy_unit": privacy_unit, "budget": budget, "delta": delta, "bounds": bounds, "values": values,
            "max_rows_per_unit": max_rows_per_unit,
        }  # fmt: skip
        for name, value in given.items():
            if value is not None:
                raise InvalidParameter(name, expected="not given beside a catalog file, which says it", found=value)
        catalog = load(source)
        where = None if ledger is None else str(ledger)
        return _warned(open_catalog(catalog, ledger=where, analyst=analyst, entropy=entropy, clock=clock))
    session = _open_data(
        source,
        {
            "privacy_unit": privacy_unit, "budget": budget, "delta": delta, "bounds": bounds, "values": values,
            "max_rows_per_unit": max_rows_per_unit,
        },
        ledger="" if ledger is None else str(ledger),
        analyst=analyst,
        entropy=entropy,
        clock=clock,
    )  # fmt: skip
    return _warned(session)


def open_catalog(
    catalog: Catalog,
    *,
    ledger: str | None = None,
    analyst: str | None = None,
    entropy: Entropy | None = None,
    clock: Clock | None = None,
    frame: Any = None,
) -> Session:
    """A session on a parsed catalog, with its ledger opened or created."""
    ready(catalog)
    location = resolve_source(catalog) if frame is None else ""
    where = resolve_ledger(catalog) if ledger is None else ledger
    # Before anything is open that a refusal would leave open.
    asker = _analyst(catalog, analyst)
    chosen = recall(catalog, where, asker if catalog.analysts else None)
    engine = open_engine(catalog, location, kept_path=_kept_path(catalog, where), frame=frame)
    try:
        _match(catalog, engine, location)
        book = Ledger.open(
            where,
            dataset=catalog.name,
            promise_digest=catalog.promise_digest(),
            budget=catalog.budget,
            analysts=catalog.analysts,
            clock=clock,
        )
    except BaseException:
        engine.close()
        raise
    declared = _declared_taus(catalog)
    own_taus = {table: tau for table, tau in chosen.own_taus.items() if table not in declared}
    return Session(
        catalog,
        engine,
        book,
        analyst=asker,
        entropy=entropy,
        clock=clock,
        taus={**chosen.taus, **own_taus, **declared},
        own_taus=own_taus,
        bounds=chosen.bounds,
        ledger_location=where,
        other_ledgers=ledgers_beside(book, source=location, where=where),
    )


def open_rehearsal(catalog: Catalog, *, analyst: str | None = None) -> Session:
    """A session on invented rows: same refusals and prices, nothing charged, nothing stored."""
    from dither.session.invented import invented_engine

    engine = invented_engine(catalog)
    book = Ledger.open(
        "", dataset=catalog.name, promise_digest=catalog.promise_digest(), budget=catalog.budget, analysts={}
    )
    taus = {key: table.max_rows_per_unit or 5 for key, table in catalog.tables.items() if not table.is_public}
    return Session(catalog, engine, book, analyst=analyst or "owner", taus=taus, invented=True)


def _warned(session: Session) -> Session:
    """Warn whoever opened it of other ledgers on the same source, unless the catalog says that they are not its
    owner."""
    if not session.catalog.analysts:
        for other in session.other_ledgers:
            warnings.warn(f"Beware: {other.sentence}.\n  {other.way_forward}", stacklevel=3)
    return session


def _open_data(
    source: Any,
    arguments: Mapping[str, Any],
    *,
    ledger: str,
    analyst: str | None,
    entropy: Entropy | None,
    clock: Clock | None,
) -> Session:
    is_file = isinstance(source, str | Path)
    tables = describe(str(source)) if is_file else [describe_frame(source)]
    if len(tables) != 1:
        raise InvalidParameter(
            "source",
            expected="one table; several need a catalog",
            found=f"{len(tables)} tables",
            hint="Write one with `dither init`.",
        )
    catalog = from_arguments(tables[0], source=str(source) if is_file else "", ledger=ledger, **arguments)
    return open_catalog(
        catalog, ledger=ledger, analyst=analyst, entropy=entropy, clock=clock, frame=None if is_file else source
    )


def _match(catalog: Catalog, engine: DuckDBEngine, location: str) -> None:
    report = check(catalog, with_paths(catalog, location, engine.schema()))
    if report.errors:
        first = report.errors[0]
        raise EngineMismatch(f"{first.place}: {first.message}", hint=first.way_forward)


def _analyst(catalog: Catalog, name: str | None) -> str:
    if not catalog.analysts:
        return name or "owner"
    if name is None:
        raise InvalidParameter(
            "analyst", expected=f"one of {', '.join(sorted(a.name for a in catalog.analysts.values()))}", found="none"
        )
    found = catalog.analysts.get(fold(name))
    if found is None:
        raise InvalidParameter("analyst", expected="an analyst of the catalog", found=name)
    return fold(found.name)


def _kept_path(catalog: Catalog, where: str) -> Path | None:
    return None if not where or "://" in where else Path(where).with_suffix(".kept.duckdb")


def _declared_taus(catalog: Catalog) -> dict[str, int]:
    return {k: t.max_rows_per_unit for k, t in catalog.tables.items() if t.max_rows_per_unit is not None}
