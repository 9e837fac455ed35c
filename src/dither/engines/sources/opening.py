"""Which source a location is, and which files belong to each table of a catalog.

Flow: `engines.duckdb.open_engine` asks for the source; the check of a catalog asks what the folders' names say.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dither.catalog.model import Catalog, Table, fold
from dither.catalog.schema import SchemaTable
from dither.engines import csv_copy
from dither.engines.describing import DATABASE_SUFFIXES, names_in
from dither.engines.sources.base import Source
from dither.engines.sources.database import DatabaseFile
from dither.engines.sources.files import Files
from dither.engines.sources.frame import Frame
from dither.errors import EngineUnavailable

__all__ = ["open_source", "with_paths"]


def open_source(catalog: Catalog, location: str, *, frame: Any = None) -> Source:
    """The source at a location. Raises EngineUnavailable when nothing readable is there."""
    if frame is not None:
        return Frame(frame)
    path = Path(location)
    if path.is_file() and path.suffix.lower() in DATABASE_SUFFIXES:
        return DatabaseFile(path)
    files: dict[str, list[str]] = {}
    for key, table in catalog.tables.items():
        found = _files_of(path, location, table)
        files[key] = [
            csv_copy.parquet_of(Path(f), table, catalog.csv) if f.lower().endswith(".csv") else f for f in found
        ]
    missing = [catalog.tables[key].name for key, found in files.items() if not found]
    if missing:
        raise EngineUnavailable(
            f"There are no files for {', '.join(missing)} at `{location}`.",
            hint="A source is a DuckDB file, a Parquet or CSV file, a folder of them, or a glob.",
        )
    return Files(path.name or location, files)


def with_paths(catalog: Catalog, location: str, schema: Sequence[SchemaTable]) -> list[SchemaTable]:
    """The schema with what the names of folders say of each table's files, for whoever takes that for columns."""
    if not location or "://" in location:
        return list(schema)
    files = {
        table.source_name or table.name: _files_of(Path(location), location, table) for table in catalog.tables.values()
    }
    return [replace(table, in_paths=names_in(files.get(table.name, ()))) for table in schema]


def _files_of(path: Path, location: str, table: Table) -> list[str]:
    name = table.source_name or table.name
    if path.is_file():
        return [str(path)]
    if path.is_dir():
        if table.source_name is not None:
            return sorted(glob.glob(str(path / name)))
        exact = [p for suffix in (".parquet", ".csv") for p in path.glob(f"*{suffix}") if fold(p.stem) == fold(name)]
        parts = sorted(str(p) for p in (path / name).glob("*.parquet"))
        found = [p.name for p in exact] + ([f"{name}/"] if parts else [])
        if len(found) > 1:
            # Read together, a table that was exported twice would count everybody twice.
            raise EngineUnavailable(
                f"Several files could be the table `{table.name}`: {', '.join(sorted(found))}.",
                hint=f'Say which under [tables.{table.name}]: source = "{sorted(found)[0]}"; or remove the others.',
            )
        return [str(p) for p in exact] or parts
    return sorted(glob.glob(location))
