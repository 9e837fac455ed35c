"""An answer as a file: CSV and JSON for any program, an Arrow stream for data frames.

Flow: `dither ask --format`. Numbers are written in full; NULL is an empty CSV field and JSON's null.
"""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["to_arrow_stream", "to_csv", "to_json"]


def to_csv(answer: Answer, *, intervals: bool) -> bytes:
    """UTF-8, with a header line, fields quoted where they must be."""
    data = _data(answer, intervals)
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow([name for name, _ in data])
    writer.writerows(zip(*([_field(value) for value in values] for _, values in data), strict=True))
    return target.getvalue().encode()


def to_json(answer: Answer, *, intervals: bool) -> bytes:
    """One object: the rows as lists, and what a program needs to judge them."""
    data = _data(answer, intervals)
    written = {
        "invented": answer.invented,
        "columns": [name for name, _ in data],
        "rows": [],
        "receipt": answer.receipt.to_dict(),
        "notes": list(answer.notes),
    }
    rows = ", ".join(f"[{', '.join(map(_json, row))}]" for row in zip(*(values for _, values in data), strict=True))
    parts = {name: _json(value) for name, value in written.items()} | {"rows": f"[{rows}]"}
    return ("{" + ", ".join(f"{_json(name)}: {text}" for name, text in parts.items()) + "}\n").encode()


def to_arrow_stream(answer: Answer, *, intervals: bool) -> bytes:
    """Arrow's IPC stream format (extra `arrow`)."""
    table = answer.arrow(intervals=intervals)
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _data(answer: Answer, intervals: bool) -> list[tuple[str, list[Any]]]:
    if intervals:
        return list(answer.columns_with_intervals())
    rows = answer.rows()
    return [(name, [row[position] for row in rows]) for position, name in enumerate(answer.columns)]


def _json(value: Any) -> str:
    """One value; a decimal is a number with all its digits."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _field(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | Decimal):
        return _json(value)
    return "" if value is None else value
