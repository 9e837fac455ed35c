"""Where a DuckDB engine's rows are: a database file, Parquet or CSV files, a frame in memory, or invented ones.

Flow: `open_source` picks one by what is at the location; the engine mounts it as views named by `view_name`. The
protocol is in `base`, each kind in a file of its own.
A source knows its physical version, by which the engine notices that what it stored no longer fits.
"""

from dither.engines.sources.base import Enforced, Source, view_name
from dither.engines.sources.files import Files
from dither.engines.sources.inventions import Inventions
from dither.engines.sources.opening import open_source, with_paths
from dither.engines.sources.table_facts import enforced_by_duckdb, extent_in_duckdb

__all__ = [
    "Enforced",
    "Files",
    "Inventions",
    "Source",
    "enforced_by_duckdb",
    "extent_in_duckdb",
    "open_source",
    "view_name",
    "with_paths",
]
