"""How DuckDB is opened beside the engine, how a Parquet file is named to it, and how files are known to be the same.

Flow: `sources`, `csv_copy`, `points` and `session.look` read with these. The engine has settings of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import duckdb

from dither.errors import EngineUnavailable
from dither.sql.printing import quote_name, quote_text

__all__ = ["NAN_ANYWHERE", "fresh_connection", "identity_of", "one_file", "parquet_reader", "stat_version"]

# Most writers leave NaN out of a file's smallest and largest values, and DuckDB believes these: a condition that holds
# from the smallest to the largest is not looked at for NaN, which then meets a cast that fails.
NAN_ANYWHERE = "SET GLOBAL parquet_can_have_nan=true"

_SETTINGS = (
    # Else a file that looks like another program's database makes DuckDB fetch a program from the network and run it.
    "SET GLOBAL autoinstall_known_extensions=false",
    "SET GLOBAL autoload_known_extensions=false",
    "SET GLOBAL python_enable_replacements=false",
    "SET GLOBAL TimeZone='UTC'",
    NAN_ANYWHERE,
)


def fresh_connection() -> duckdb.DuckDBPyConnection:
    """An empty database in memory, for reading files of the owner's; it fetches nothing."""
    connection = duckdb.connect(":memory:")
    for setting in _SETTINGS:
        connection.execute(setting)
    return connection


def parquet_reader(paths: Sequence[str], *, any_text: bool = False, looked_at: Sequence[str] = ()) -> str:
    """A FROM item of these files' own columns. Raises EngineUnavailable for a name that is a pattern.
    any_text: read a text that is no UTF-8 with ? for what is wrong in it. A query fails on one otherwise, and where it
    was charged for, one person's row would decide that.
    looked_at: columns of whose values nothing is believed beforehand. Where a file says that all lie within the bounds,
    the engine leaves the clamp out, and a value that does not would go on as it is.
    Decision: docs/decisions/0032-nothing-is-believed-of-guarded-columns.md"""
    listed = ", ".join(quote_text(one_file(path)) for path in paths)
    # Else a folder named `age=5` replaces what a column `age` holds, in every row, by 5.
    options = ["hive_partitioning=false", *(["utf8_validation='replace'"] if any_text else [])]
    if looked_at:
        unknown = ", ".join(f"{quote_text(quote_name(name))}: {{'min': NULL, 'max': NULL}}" for name in looked_at)
        options.append(f"column_statistics={{{unknown}}}")
    return f"read_parquet([{listed}], {', '.join(options)})"


def one_file(path: str | Path) -> str:
    """The path, where DuckDB takes it for one file. Raises EngineUnavailable where it would look for others."""
    if set("*?[") & set(str(path)):
        raise EngineUnavailable(
            f"`{Path(path).name}` cannot be read: with *, ? or [ in its path it is a pattern for other files.",
            hint="Rename the file, or the folder it is in.",
        )
    return str(path)


def stat_version(paths: Sequence[Path]) -> str:
    """Changes whenever a file of these may hold other bytes than before."""
    facts: list[tuple[str, tuple[int, ...] | None]] = []
    for path in paths:
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            facts.append((str(path), None))
            continue
        # The time of the last change of status, too: what has the size and the date of the old file is another file.
        facts.append((str(path), (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)))
    return repr(facts)


def identity_of(path: Path) -> tuple[int, ...]:
    """Differs where the file is another one, was written to, or is gone; not where its name or rights change."""
    try:
        stat = os.stat(path)
    except OSError:
        return ()
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
