"""Mechanisms with known answers, wrong ones beside right ones: `rows` the table, `specimens` the samplers."""

from dither.audit.catalogue.builders import Row
from dither.audit.catalogue.rows import ROWS, audit_row, row

__all__ = ["ROWS", "Row", "audit_row", "row"]
